"""``lapwing serve`` and ``lapwing access``: let people ask sources over HTTP, and say who may.

The server is imported only when a command runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ..errors import MissingLibrary, MissingParameter
from .output import Decorator, format_option, print_json, print_table

if TYPE_CHECKING:
    from ..server.access import Access
    from ..source import Source

_config: Decorator = click.option(
    "--config", metavar="FILE", help="A TOML file with settings; options of the command line win."
)
_access: Decorator = click.option(
    "--access", metavar="FILE|URL",
    help="The record of people and tokens: an SQLite file or a postgresql:// URL.  "
    "[default: access.sqlite in your data folder]",
)  # fmt: skip


@click.command()
@click.argument("sources", nargs=-1, type=click.Path(dir_okay=False), metavar="SOURCE...")
@click.option("--host", metavar="ADDRESS", help="The address on which to listen.  [default: 127.0.0.1]")
@click.option("--port", type=int, metavar="NUMBER", help="The port on which to listen.  [default: 8765]")
@_config
@click.option("--certificate", metavar="FILE", help="The TLS certificate, with its chain.")
@click.option("--key", metavar="FILE", help="The private key of the certificate.")
@click.option("--behind-proxy", is_flag=True, help="A proxy in front of the server ends TLS.")
@click.option("--name", "names", multiple=True, metavar="HOST", help="A name by which clients call the server.")
@_access
@click.option("--sources-folder", metavar="DIR", help="Let makers upload tables to this folder and serve them.")
@click.option("--epsilon-per-question", metavar="NUMBER", help="The largest ε that one question may ask for.")
@click.option(
    "--audit-report", metavar="FILE", help="Show owners and auditors what `lapwing audit --format json` wrote."
)
def serve(sources: Sequence[str], config: str | None, **given: Any) -> None:
    """Serve sources over HTTP.  Analysts ask, and the data stays here.

    Say first who may ask, with `lapwing access invite`.  Only this machine can reach the server, unless you give a
    certificate or say that a proxy ends TLS.

    \b
    lapwing serve visits.toml
    lapwing serve visits.toml survey.toml --config serve.toml
    lapwing serve visits.toml --host 0.0.0.0 --certificate full.pem --key key.pem --name stats.example
    """
    settings_of, run = _server("settings").settings_of, _server("run").serve
    settings = settings_of(config, {"sources": sources, **given})
    run(settings, lambda text: click.echo(text, err=True))


def _server(module: str) -> Any:
    """Return a module of the server, or say what to install."""
    from importlib import import_module

    try:
        return import_module(f"lapwing.server.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("lapwing"):
            raise
        raise MissingLibrary(str(error.name), "server") from None


@click.group()
def access() -> None:
    """Say who may ask the sources of a server.  Invite people, list them, revoke tokens.

    \b
    lapwing access invite olga visits.toml --role owner
    lapwing access invite ana visits.toml --role analyst --cap 1
    lapwing access list
    lapwing access revoke ana
    """


@access.command()
@click.argument("person")
@click.argument("sources", nargs=-1, type=click.Path(dir_okay=False), metavar="[SOURCE]...")
@click.option(
    "--role", type=click.Choice(["owner", "analyst", "auditor", "operator", "maker"]), required=True,
    help="owner: everything; analyst: plan and release; auditor: the ledger; operator: metrics, no source; "
    "maker: new sources.",
)  # fmt: skip
@click.option("--cap", metavar="NUMBER", help="The most ε that this person may spend on each source.")
@click.option("--days", type=int, default=90, show_default=True, help="How long the token lasts, at most 366.")
@click.option("--no-token", is_flag=True, help="Make no token: this person signs in with OpenID Connect.")
@_access
@_config
@format_option
def invite(
    person: str,
    sources: Sequence[str],
    role: str,
    cap: str | None,
    days: int,
    no_token: bool,
    access: str | None,
    config: str | None,
    form: str,
) -> None:
    """Give PERSON a role for SOURCEs, and print a token.  It is shown only now.

    Give the token to the person in a way that nobody else can read.  Invite again to replace a lost one.

    People who sign in with your organisation's accounts (docs/how-to/serve.md) need a role and no token: --no-token.
    PERSON is then the name by which the provider knows them.
    """
    server, roles = _server("access"), _server("permissions").Role
    if (role in ("operator", "maker")) == bool(sources):
        raise click.UsageError("name the SOURCEs of the role; operators and makers have none")
    server.checked_person(person)
    server.checked_days(days)
    opened, people = [_opened(each) for each in sources], _opened_access(access, config)
    for source in opened:
        people.know_source(source.name, _server("sources").identity_of(source.make_ledger()))
    for source in opened:
        _give_cap(source, person, role, cap)
    names = [source.name for source in opened]
    if no_token:
        for name in names or [""]:
            people.add_role(person, name, roles(role))
        _tell_role(person, role, names, form)
        return
    made = server.invite(people, person, roles(role), names, days, names or [""])
    if form == "json":
        print_json(person=person, role=role, sources=names, token=made.text, number=made.number, expires=made.expires)
        return
    what = f" of {', '.join(names)}" if names else ""
    click.echo(f"{person} is {role}{what}.  The token is shown only now, and expires on {made.expires[:10]}:", err=True)
    click.echo(made.text)


def _tell_role(person: str, role: str, names: list[str], form: str) -> None:
    if form == "json":
        print_json(person=person, role=role, sources=names)
        return
    what = f" of {', '.join(names)}" if names else ""
    click.echo(f"{person} is {role}{what}, and has no token.")


def _opened(path: str) -> Source:
    from ..source import Source

    return Source.open(path)


def _give_cap(source: Source, person: str, role: str, cap: str | None) -> None:
    """Set the cap of a person in the ledger of a source."""
    ledger = source.make_ledger()
    known = person in {each.analyst for each in ledger.analysts()}
    if cap is not None:
        (ledger.set_cap if known else ledger.add_analyst)(person, cap)
    elif role == "analyst" and not known:
        raise MissingParameter("cap", "Say how much ε this analyst may spend at most: --cap 1. The total binds, too.")


def _opened_access(access: str | None, config: str | None) -> Access:
    place = _server("settings").access_place(access, config)
    opened: Access = _server("access").Access(_server("store").AccessStore(place))
    return opened


@access.command(name="list")
@_access
@_config
@format_option
def list_people(access: str | None, config: str | None, form: str) -> None:
    """List who has which role, and which tokens there are.  No token itself is shown."""
    opened = _opened_access(access, config)
    roles, tokens = opened.roles(), opened.tokens()
    if form == "json":
        print_json(roles=roles, tokens=tokens)
        return
    print_table(
        "People", ["person", "role", "source"], [[each["person"], each["role"], each["source"]] for each in roles]
    )
    rows = [
        [each["number"], each["person"], each["expires"][:10], _state(each), (each["used"] or "never")[:10]]
        for each in tokens
    ]
    print_table("Tokens", ["number", "person", "expires", "state", "used"], rows)


def _state(token: dict[str, Any]) -> str:
    from datetime import UTC, datetime

    if token["revoked"] is not None:
        return "revoked"
    return "expired" if token["expires"] <= datetime.now(UTC).isoformat(timespec="seconds") else "valid"


@access.command()
@click.argument("person")
@click.option("--token", metavar="NUMBER", help="Only the token of this number; by default all, and all roles.")
@_access
@_config
@format_option
def revoke(person: str, token: str | None, access: str | None, config: str | None, form: str) -> None:
    """Revoke the tokens of PERSON at once, and take all roles.  What they were charged stays in the ledger."""
    opened = _opened_access(access, config)
    numbers = [each["number"] for each in opened.tokens(person) if token in (None, each["number"])]
    if token is not None and not numbers:
        raise click.UsageError(f"{person} has no token of this number: lapwing access list")
    revoked = sum(opened.revoke(number=number) for number in numbers)
    if token is None:
        opened.revoke(person=person)  # sessions of browsers, too
    taken = opened.remove_roles(person) if token is None else 0
    if form == "json":
        print_json(person=person, tokens=revoked, roles=taken)
    else:
        click.echo(f"Revoked {revoked} tokens and took {taken} roles of {person}.")


@access.command()
@click.argument("to", type=click.Path(), metavar="FILE")
@_access
@_config
@format_option
def backup(to: str, access: str | None, config: str | None, form: str) -> None:
    """Copy the record of people into a new FILE while servers use it.  Copy the ledgers, too."""
    count = _server("backup").back_up_access(_opened_access(access, config).store, to)
    if form == "json":
        print_json(file=to, people=count)
    else:
        click.echo(f"The record of {count} people is in {to}.")


@access.command()
@click.argument("backup", type=click.Path(), metavar="FILE")
@click.option("--keep-tokens", is_flag=True, help="Make its tokens valid again, also those that were revoked since.")
@_access
@_config
@format_option
def restore(backup: str, keep_tokens: bool, access: str | None, config: str | None, form: str) -> None:
    """Put a backup, FILE, into a record without people.

    All tokens are revoked, since some may have been revoked after the copy was taken: invite people again.  Jobs that
    waited are cancelled.  Roles that were removed after the copy was taken are back, and with OpenID Connect a role is
    enough to sign in.  So before you start the server, look at `lapwing access list`, and remove what should not be
    there with `lapwing access revoke`.
    """
    store = _opened_access(access, config).store
    count = _server("backup").restore_access(store, backup, keep_tokens=keep_tokens)
    if form == "json":
        print_json(people=count, tokens_revoked=not keep_tokens)
    else:
        tokens = "Tokens revoked since are valid again." if keep_tokens else "All tokens are revoked: invite again."
        click.echo(f"The record of {count} people is put back. {tokens}")
        click.echo(
            "Roles that were removed since are back, and with OpenID Connect a role is enough to sign in. Before you "
            "start the server, look at `lapwing access list`, and remove roles with `lapwing access revoke PERSON`."
        )
