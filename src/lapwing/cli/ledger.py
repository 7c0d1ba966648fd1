"""``lapwing ledger WHERE``: show, verify and manage a ledger.

The ledger is opened, and SQLAlchemy imported, only when a command runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import click

from ..exact import text
from ..ledger.lines import what, when
from .output import format_option, print_json, print_table
from .remote import asked_server, asks_server

if TYPE_CHECKING:
    from ..client.remote_ledger import RemoteLedger
    from ..ledger.entry import Entry, LedgerRecord
    from ..ledger.ledger import Ledger
    from ..ledger.requests import CapRequest

_WHERE_KEPT = "a ledger is made, copied and put back where it is kept"
_BY_OWNER = "the owner sets caps and the total on the pages of the server, or where the source file is"

LONGEST = 70
"""How many characters of a question are printed."""

note_option = click.option("--note", metavar="TEXT", help="The reason, for those who read the ledger later.")


class LedgerGroup(click.Group):
    """A group that also accepts its options after FILE."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if len(args) > 2 and args[1] == "--format":
            args = [*args[1:3], args[0], *args[3:]]
        return super().parse_args(ctx, args)


@click.group(cls=LedgerGroup, invoke_without_command=True)
@click.argument("where", metavar="FILE|URL")
@format_option
@click.pass_context
def ledger(ctx: click.Context, where: str, form: str) -> None:
    """Show or manage a ledger (privacy accountant).  It has the budget and its history.

    FILE is an SQLite file or a source file (.toml), URL a postgresql:// address.  The default command is show.  With
    --server it is the name of a source, and show, verify, head, analysts and requests are for its owners and auditors.

    \b
    lapwing ledger visits.ledger create --epsilon 2
    lapwing ledger visits.ledger
    lapwing ledger visits.ledger verify --head 3f0c…
    lapwing --server https://stats.example ledger visits verify
    """
    ctx.obj = where
    if ctx.invoked_subcommand is None:
        _show(_open(where), form)


def _open(where: str) -> Ledger | RemoteLedger:
    return asked_server().source(where).ledger if asks_server() else _own(where)


def _own(where: str, why: str = _WHERE_KEPT) -> Ledger:
    """Return the ledger of a command that cannot ask a server; none is made."""
    from ..ledger.ledger import Ledger

    _refuse_server(why)
    if where.endswith(".toml"):
        from ..source import Source

        return Source.open(where).open_ledger()
    return Ledger.open(where)


def _refuse_server(why: str) -> None:
    """Refuse --server, before anything is done."""
    if asks_server():
        raise click.UsageError(f"`lapwing ledger {click.get_current_context().info_name}` cannot ask a server: {why}")


def _own_or_new(where: str, why: str) -> Ledger:
    """Return the ledger of a command that cannot ask a server; a source that has none gets one, and that is said."""
    from ..ledger.existing import is_there, told_new

    _refuse_server(why)
    if not where.endswith(".toml") or is_there(_place(where)):
        return _own(where, why)
    from ..source import Source

    made = Source.open(where).make_ledger()
    click.echo(told_new("This command", made), err=True)
    return made


def _place(where: str) -> str:
    """Return where a ledger is or was; none is made."""
    _refuse_server(_WHERE_KEPT)
    if not where.endswith(".toml"):
        return where
    from ..source import Source

    return Source.open(where).ledger_place()


@ledger.command()
@click.option("--epsilon", required=True, metavar="NUMBER", help="The total ε that may ever be spent.")
@click.option("--delta", metavar="NUMBER", help="The total δ that may ever be spent.  [default: 0]")
@format_option
@click.pass_obj
def create(where: str, epsilon: str, delta: str | None, form: str) -> None:
    """Create a new ledger (or check that it exists with this total)."""
    from ..ledger.ledger import Ledger

    _refuse_server(_WHERE_KEPT)
    _show(Ledger.open(where, epsilon, delta), form)


@ledger.command()
@format_option
@click.pass_obj
def show(where: str, form: str) -> None:
    """Show what is left and every entry.  When, who, what, ε, and the running total."""
    _show(_open(where), form)


@ledger.command()
@click.option("--head", metavar="HASH", help="A head kept elsewhere: detects a ledger rolled back to an older copy.")
@format_option
@click.pass_obj
def verify(where: str, head: str | None, form: str) -> None:
    """Check all hashes, sums and answers; name the first bad entry."""
    opened = _open(where)
    count, last = opened.verify(head), opened.head
    if form == "json":
        print_json(entries=count, head=last)
    else:
        click.echo(f"{count} entries are sound" + (", and the head is among them." if head else "."))
        click.echo(f"head {last}")


@ledger.command()
@format_option
@click.pass_obj
def head(where: str, form: str) -> None:
    """Print the hash of the last entry, to keep elsewhere."""
    last = _open(where).head
    if form == "json":
        print_json(head=last)
    else:
        click.echo(last)


@ledger.command()
@click.argument("to", type=click.Path(), metavar="FILE")
@click.option("--head", metavar="HASH", help="A head kept elsewhere; it must be in the copy.")
@format_option
@click.pass_obj
def backup(where: str, to: str, head: str | None, form: str) -> None:
    """Copy the ledger into a new FILE while others use it.  Check the copy, and print its head.

    FILE is made read-only.  Keep its head elsewhere: it tells whether a copy that is put back is the newest one.
    """
    from ..ledger.backup import back_up

    last = back_up(_own(where), to, head)
    if form == "json":
        print_json(file=to, entries=last.number, head=last.hash)
    else:
        click.echo(f"{last.number} entries are in {to}, and are sound.")
        click.echo(f"head {last.hash}")


@ledger.command()
@click.argument("backup", type=click.Path(), metavar="FILE")
@click.option("--head", metavar="HASH", help="The head kept elsewhere after the last answer.")
@click.option("--write-off", is_flag=True, help="What is lost counts as spent.")
@format_option
@click.pass_obj
def restore(where: str, backup: str, head: str | None, write_off: bool, form: str) -> None:
    """Put a backup, FILE, where the ledger was or is.  Nothing that is known to be spent is spent twice.

    What the ledger has and the backup lacks would be lost: the command says what it is, and refuses, unless you
    confirm with --write-off that it counts as spent. Where no ledger is left to compare with, nobody knows what was
    charged after the backup: then nothing remains, unless the head that you kept is the last one of the backup.

    \b
    lapwing ledger visits.ledger restore visits-2026-01-31.backup --head 3f0c…
    """
    from ..ledger.backup import restore as put_back

    done = put_back(_place(where), backup, head, write_off=write_off)
    if form == "json":
        written_off = [each.to_dict() for each in done.written_off]
        print_json(entries=done.entries, head=done.head, written_off=written_off)
        return
    click.echo(f"{done.entries} entries are put back, and are sound.")
    click.echo(f"head {done.head}")
    for each in done.written_off:
        _tell(each, form)
    if done.written_off:
        click.echo("Write the new total into the source file too, and start servers again.")


@ledger.command()
@click.argument("epsilon")
@click.option("--delta", metavar="NUMBER", help="Also set the total δ.")
@note_option
@format_option
@click.pass_obj
def total(where: str, epsilon: str, delta: str | None, note: str | None, form: str) -> None:
    """Set the total ε that may ever be spent.  An entry that everyone can see says so."""
    _tell(_own(where, _BY_OWNER).set_total(epsilon, delta, note), form)


@ledger.group(invoke_without_command=True)
@format_option
@click.pass_context
def analysts(ctx: click.Context, form: str) -> None:
    """List the analysts, or add one, or set a cap."""
    if ctx.invoked_subcommand is None:
        found = [each.to_dict() for each in _open(ctx.obj).analysts()]
        if form == "json":
            print_json(analysts=found)
        else:
            _print_budgets("Analysts", found)


@analysts.command()
@click.argument("name")
@click.option("--cap", required=True, metavar="NUMBER", help="The most ε that this analyst may spend.")
@note_option
@format_option
@click.pass_obj
def add(where: str, name: str, cap: str, note: str | None, form: str) -> None:
    """Add analyst NAME with a cap."""
    _tell(_own_or_new(where, _BY_OWNER).add_analyst(name, cap, note), form)


@analysts.command()
@click.argument("name")
@click.argument("cap")
@note_option
@format_option
@click.pass_obj
def cap(where: str, name: str, cap: str, note: str | None, form: str) -> None:
    """Set the CAP of analyst NAME: the most ε that this analyst may spend."""
    _tell(_own(where, _BY_OWNER).set_cap(name, cap, note), form)


@ledger.group(invoke_without_command=True)
@format_option
@click.pass_context
def requests(ctx: click.Context, form: str) -> None:
    """List the requests for higher caps, or grant or decline one."""
    if ctx.invoked_subcommand is None:
        opened = asked_server().source(ctx.obj) if asks_server() else _own(ctx.obj)
        print_requests(opened.requests(), form)


@requests.command()
@click.argument("number", type=int)
@click.option("--cap", metavar="NUMBER", help="The new cap, if it is less than what was asked for.")
@note_option
@format_option
@click.pass_obj
def grant(where: str, number: int, cap: str | None, note: str | None, form: str) -> None:
    """Grant the request of this NUMBER.  The analyst's cap is now what was asked for, or less."""
    _tell(_decided(where, "grant", number, cap, note), form)


@requests.command()
@click.argument("number", type=int)
@note_option
@format_option
@click.pass_obj
def decline(where: str, number: int, note: str | None, form: str) -> None:
    """Decline the request of this NUMBER: the cap stays as it is."""
    entry = _decided(where, "decline", number, note)
    if form == "json":
        print_json(**entry.to_dict())
    else:
        click.echo(f"entry {entry.number}: request {number} of {entry.analyst} is declined")


def _decided(where: str, verb: str, number: int, *given: str | None) -> Entry:
    """Grant or decline a request; return the entry that says so."""
    if not asks_server():
        entry: Entry = getattr(_own(where), verb)(number, *given)
        return entry
    source = asked_server().source(where)
    getattr(source, verb)(number, *given)
    return [each for each in source.ledger.entries() if (each.kind, each.charge) == (verb, number)][-1]


def print_requests(found: Sequence[CapRequest], form: str) -> None:
    """Print requests for higher caps, and what became of them."""
    if form == "json":
        print_json(requests=[each.to_dict() for each in found])
        return
    heads = ["request", "when (UTC)", "who", "cap wanted", "why", "state", "granted", "note"]
    rows = [
        [str(each.number), when(each.time), each.analyst, text(each.cap),
         each.reason, each.state, _amount(each.granted), each.note or ""]
        for each in found
    ]  # fmt: skip
    print_table("Requests for a higher cap", heads, rows)


def _record(opened: Ledger | RemoteLedger) -> LedgerRecord:
    from ..ledger.entry import LedgerRecord
    from ..ledger.ledger import Ledger

    if not isinstance(opened, Ledger):
        return opened.record()
    people, entries = tuple(opened.analysts()), tuple(opened.entries())
    return LedgerRecord(opened.where, opened.budget(), opened.delta, people, entries)


def _show(opened: Ledger | RemoteLedger, form: str) -> None:
    record = _record(opened)
    entries, whole, delta = record.entries, record.epsilon, record.delta
    people = [each.to_dict() for each in record.analysts]
    answers = {entry.charge: entry.number for entry in entries if entry.kind == "answer"}
    if form == "json":
        told = [{**e.to_dict(), "answered_by": answers.get(e.number)} for e in entries]
        print_json(ledger=record.where, epsilon=whole.to_dict(), delta=delta.to_dict(), analysts=people, entries=told)
        return
    left = f"ε: {text(whole.remaining)} left of {text(whole.total)}"
    left_delta = f", δ: {text(delta.remaining)} left of {text(delta.total)}" if delta.total else ""
    both = bool(delta.total)
    rows = [
        [str(e.number), when(e.time), e.analyst or "", what(e, LONGEST), _amount(e.epsilon),
         *([_amount(e.delta)] if both else []), text(e.spent),
         f"by {answers[e.number]}" if e.number in answers else "no" if e.kind == "charge" else ""]
        for e in entries
        if e.kind != "answer"
    ]  # fmt: skip
    heads = ["entry", "when (UTC)", "who", "what", *(["ε", "δ"] if both else ["ε"]), "spent", "answered"]
    print_table(f"{record.where}   {left}{left_delta}", heads, rows)
    if people:
        _print_budgets("Analysts", people)


def _amount(value: Fraction | None) -> str:
    return "" if value is None else text(value)


def _print_budgets(title: str, found: list[dict[str, str]]) -> None:
    print_table(title, ["analyst", "cap", "spent", "remaining"], [list(each.values()) for each in found])


def _tell(entry: Entry, form: str) -> None:
    """Confirm an entry that the owner made."""
    if form == "json":
        print_json(**entry.to_dict())
    else:
        what = f"cap of {entry.analyst}" if entry.analyst else "total"
        note = f" ({entry.note})" if entry.note else ""
        delta = f", δ = {text(entry.delta)}" if entry.delta else ""
        click.echo(f"entry {entry.number}: {what} is now {_amount(entry.epsilon)}{delta}{note}")
