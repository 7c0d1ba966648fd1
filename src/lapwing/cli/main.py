"""The command ``lapwing``: the same verbs and words as in Python.

Exit status: 0 done, 2 refused (nothing drawn, nothing spent), 1 failed.
"""

from __future__ import annotations

import io
import json
import math
import re
import signal
import sys
import threading
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import click

from .. import __version__, exact
from .. import sensitivity as catalogue
from ..errors import BudgetExceeded, LapwingError, NotAllowed, NotSignedIn, RequestError
from ..exact import text
from ..noise.distributions import DiscreteLaplace, Laplace
from ..noise.intervals import Error
from ..noise.mechanism import LaplaceMechanism
from ..noise.sampler import discrete_laplace
from ..sensitivity import Neighbors
from .audit import audit
from .check import check
from .explain import explain
from .find import bounds, discover
from .init import init
from .ledger import ledger
from .output import Decorator, confidence_option, console, format_option, print_json, print_table
from .package import package
from .plot import plot
from .remote import remember_server
from .request import request
from .serve import access, serve
from .sign_in import sign_in, sign_out
from .sources import history, sources
from .table import plan, release

_REFUSED = RequestError, BudgetExceeded, NotAllowed, NotSignedIn
"""Errors after which nothing was drawn and nothing was spent."""


class Commands(click.Group):
    """A group that turns an error, also of how a command is written, into its message and exit status."""

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        try:
            return super().make_context(*args, **more)
        except click.UsageError as error:
            _refuse_usage(error, None)

    def invoke(self, ctx: click.Context) -> Any:
        _prepare()
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            _refuse_usage(error, ctx.meta.get("lapwing.format"))
        except LapwingError as error:
            _tell(type(error).__name__, _with_notes(str(error), error), ctx.meta.get("lapwing.format"))
            sys.exit(2 if isinstance(error, _REFUSED) else 1)
        except KeyboardInterrupt as error:
            click.echo(_with_notes("Interrupted.", error), err=True)
            sys.exit(130)  # 1 means that something failed
        except BrokenPipeError:
            raise  # click knows what to do
        except OSError as error:
            click.echo(f"lapwing: the output could not be written ({error.strerror})", err=True)
            sys.exit(1)


def _refuse_usage(error: click.UsageError, form: str | None) -> NoReturn:
    """Say in one sentence how a command is written wrongly, and where it says how it is written."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        raise error
    message = error.format_message()
    if re.match(r"[a-z]+ ", message):
        message = message[0].upper() + message[1:]
    message = message if message[-1:] in (".", "?") else f"{message}."
    command = "lapwing" if error.ctx is None else " ".join(["lapwing", *error.ctx.command_path.split()[1:]])
    _tell("UsageError", message if form == "json" else f"{message}  See `{command} --help`.", form)
    sys.exit(2)


def _tell(name: str, message: str, form: str | None) -> None:
    """Print an error: one line for people, or one JSON object for programs."""
    text = json.dumps({"error": name, "message": message}, ensure_ascii=False)
    click.echo(text if form == "json" else f"lapwing: {message}", err=True)


def _with_notes(message: str, error: BaseException) -> str:
    """Return the message of an error, with what was noted beside it: that a new ledger was begun."""
    return " ".join([message, *getattr(error, "__notes__", ())])


def _prepare() -> None:
    """Make output work on terminals without ε, and clean up files spilled to disk on SIGTERM and SIGHUP."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if threading.current_thread() is threading.main_thread():
        for ending in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(ending) is not signal.SIG_IGN:  # nohup
                signal.signal(ending, lambda number, _: sys.exit(128 + number))


sensitivity_option: Decorator = click.option(
    "--sensitivity", metavar="NUMBER", help="How far one person can move the answer (`lapwing sensitivity`)."
)
epsilon_option: Decorator = click.option(
    "--epsilon", metavar="NUMBER", help="The privacy loss: a number with at most nine decimal places, 0 < ε ≤ 1000."
)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="lapwing")
@click.option(
    "--server", metavar="URL",
    help="Ask a server: SOURCE is then the name of a source there, and `sources` lists them.  "
    "The token is LAPWING_TOKEN, or that of `sign-in`.",
)  # fmt: skip
@click.option("--token-file", metavar="FILE", help="With --server: a file with the token, readable by you alone.")
@click.pass_context
def main(ctx: click.Context, server: str | None, token_file: str | None) -> None:
    """Release statistics about people with the exact Laplace mechanism and an error bar on every number."""
    remember_server(ctx, server, token_file)


_COMMANDS = (
    access, audit, bounds, check, discover, explain, history, init, ledger, package, plan, plot, release, request,
    serve, sign_in, sign_out, sources,
)  # fmt: skip
for command in _COMMANDS:
    main.add_command(command)


@main.command()
@click.option(
    "--folder", default="lapwing-demo", show_default=True, type=click.Path(file_okay=False, path_type=Path),
    help="Where to put the table, its source file, its ledger and the report; those of an earlier demo are replaced.",
)  # fmt: skip
@click.option("--fast", is_flag=True, help="Do not pause between the steps, as on anything but a terminal.")
def demo(folder: Path, fast: bool) -> None:
    """Tour: two attacks, and releases until the budget is spent.  The visits are those of 100,000 invented people."""
    from .demo import tell

    tell(console(), folder, fast)


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("values", nargs=-1, metavar="[VALUE]...")
@click.option("--scale", metavar="NUMBER", help="Noise scale, such as 10 or 1/3 (or give sensitivity and ε).")
@sensitivity_option
@epsilon_option
@click.option("--size", type=int, metavar="N", help="Number of draws when no VALUE is given.  [default: 1]")
@confidence_option
@format_option
def noise(
    values: Sequence[str],
    scale: str | None,
    sensitivity: str | None,
    epsilon: str | None,
    size: int | None,
    confidence: str,
    form: str,
) -> None:
    """Draw exact Laplace noise, or add it to VALUEs.

    If all VALUEs are whole numbers, so are the answers; write 60.0 to get a decimal number.  The sensitivity is that of
    all VALUEs together (L1).  This is the bare mechanism: no ledger is charged, so keep track of ε yourself.  Other
    users of the machine may see VALUEs on a command line, and they stay in the shell's history.

    \b
    lapwing noise --scale 10 --size 5
    lapwing noise 412 388 57 --sensitivity 1 --epsilon 1
    """
    if values:
        if scale is not None or size is not None:
            raise click.UsageError("with VALUEs give --sensitivity and --epsilon, not --scale or --size")
        _add_noise(values, sensitivity, epsilon, confidence, form)
        return
    if scale is None:
        chosen = LaplaceMechanism(*_both(sensitivity, epsilon)).scale
    elif sensitivity is None and epsilon is None:
        chosen = exact.scale(scale)
    else:
        raise click.UsageError("give either --scale, or --sensitivity and --epsilon")
    law = DiscreteLaplace(chosen)
    margin = law.margin(confidence)
    drawn = [discrete_laplace(chosen)] if size is None else discrete_laplace(chosen, size).tolist()
    if form == "json":
        print_json(scale=text(chosen), confidence=confidence, margin=margin, noise=drawn)
        return
    click.echo("\n".join(map(str, drawn)))
    click.echo(f"scale {text(chosen)}: within ±{margin:,} with probability at least {confidence}", err=True)


def _add_noise(values: Sequence[str], sensitivity: str | None, epsilon: str | None, confidence: str, form: str) -> None:
    numbers = [_number(each) for each in values]
    exact.probability(confidence)
    mechanism = LaplaceMechanism(*_both(sensitivity, epsilon))
    if len(numbers) == 1:
        released: list[Any] = [mechanism.release(numbers[0])]
        low, high = ([end] for end in mechanism.interval(released[0], confidence))
    else:
        if len({type(number) for number in numbers}) > 1:
            raise click.UsageError("write all VALUEs as whole numbers, or all with a decimal point")
        array = mechanism.release(numbers)
        released = array.tolist()
        low, high = (end.tolist() for end in mechanism.interval(array, confidence))
    rows = [{"value": v, "low": a, "high": b} for v, a, b in zip(released, low, high, strict=True)]
    public = _parameters(mechanism)
    if form == "json":
        print_json(**public, confidence=confidence, rows=rows)
        return
    print_table(
        f"Laplace noise of scale {public['scale']}, ε = {public['epsilon']}, error bars of confidence {confidence}",
        ["released", "low", "high"],
        [[_shown(row[key], rows[0]["high"] - rows[0]["low"]) for key in ("value", "low", "high")] for row in rows],
    )
    click.echo("No ledger was charged: keep track of ε yourself.", err=True)


def _parameters(mechanism: LaplaceMechanism) -> dict[str, str]:
    return {name: text(getattr(mechanism, name)) for name in ("epsilon", "sensitivity", "scale")}


def _number(given: str) -> int | float:
    try:
        return int(given)
    except ValueError:
        pass
    try:
        return float(given)
    except ValueError:
        if re.fullmatch(r"--[A-Za-z-]+", given):  # a VALUE must not be echoed, a mistyped option may
            raise click.NoSuchOption(given) from None
        raise click.BadParameter("every VALUE is a number", param_hint="VALUE") from None


def _both(sensitivity: str | None, epsilon: str | None) -> tuple[str, str]:
    if sensitivity is None or epsilon is None:
        raise click.UsageError("give --sensitivity and --epsilon (or, to `noise` without a VALUE, --scale)")
    return sensitivity, epsilon


@main.command()
@sensitivity_option
@epsilon_option
@click.option("--cells", default=1, show_default=True, metavar="D", help="How many answers get independent noise.")
@confidence_option
@format_option
def error(sensitivity: str | None, epsilon: str | None, cells: int, confidence: str, form: str) -> None:
    """Show the error of the Laplace mechanism.  No data is read.

    \b
    lapwing error --sensitivity 2 --epsilon 0.1 --cells 3143
    """
    mechanism = LaplaceMechanism(*_both(sensitivity, epsilon))
    real, whole = mechanism.error, mechanism.integer_noise
    facts = _error_facts(real, whole, exact.whole(cells, "cells"), confidence)
    public = _parameters(mechanism)
    if form == "json":
        print_json(**public, confidence=confidence, cells=cells, errors={key: value for key, _, value in facts})
        return
    title = f"Noise of scale {public['scale']} (sensitivity {public['sensitivity']}, ε = {public['epsilon']})"
    print_table(title, ["", "", ""], [[label, _shown(value), key] for key, label, value in facts])


def _error_facts(real: Error, whole: DiscreteLaplace, cells: int, confidence: str) -> list[tuple[str, str, float]]:
    """Return (key, label, value) for the lines of ``lapwing error``."""
    law: Laplace = real.law
    facts: list[tuple[str, str, float]] = [
        ("mean", "mean absolute error", real.mean),
        ("rms", "root mean square error", real.rms),
        ("margin", f"{confidence} margin, real values", real.quantile(confidence)),
        ("integer_margin", f"{confidence} margin, whole values", whole.margin(confidence)),
        ("chebyshev_2", "Chebyshev: P(error ≥ 2 standard deviations) ≤", real.chebyshev(2)),
        ("tail_2", "the same probability, exactly", law.tail(2 * law.std)),
    ]
    if cells > 1:
        facts += [
            ("total_mean", f"sum of {cells:,} absolute errors, mean", real.total_mean(cells)),
            ("max_mean", f"largest of {cells:,} absolute errors, mean", real.max_mean(cells)),
            ("max_mean_bound", "the textbook's bound on it, scale·(ln d + 1)", real.max_mean_bound(cells)),
            ("simultaneous_margin", f"{confidence} margin for all at once, real values",
             law.simultaneous_margin(cells, confidence)),
            ("simultaneous_integer_margin", f"{confidence} margin for all at once, whole values",
             whole.simultaneous_margin(cells, confidence)),
        ]  # fmt: skip
    return facts


@main.command()
@click.argument("name", required=False)
@click.option("--low", metavar="L", help="Lower bound of the values.  [default: 0]")
@click.option("--high", metavar="U", help="Upper bound of the values.  [default: 1]")
@click.option("-n", "rows", type=int, metavar="N", help="Public number of rows (change_one).  [default: 4]")
@click.option(
    "--neighbors", type=click.Choice(["add_remove", "change_one"]), help="Only this relation.  [default: both]"
)
@format_option
def sensitivity(
    name: str | None, low: str | None, high: str | None, rows: int | None, neighbors: Neighbors | None, form: str
) -> None:
    """Explain the sensitivity NAME.  Claim, formula, value and a pair of neighbors that attains it.

    Without NAME, list the catalogue.

    \b
    lapwing sensitivity mean --low 30 --high 150 -n 4
    """
    if name is None:
        if (low, high, rows, neighbors) != (None,) * 4:
            raise click.UsageError("name the sensitivity that the options are for")
        _list_catalogue(form)
        return
    entry = catalogue.entry(name)
    given = {"low": low, "high": high, "n": rows}
    for key, value in given.items():
        if value is not None and key not in entry.needs:
            raise click.UsageError(f"{name} does not depend on {key}")
    ends = exact.bounds(*(default if value is None else value for value, default in ((low, 0), (high, 1))))
    n = exact.whole(4 if rows is None else rows, "n")
    relations: tuple[Neighbors, ...] = ("add_remove", "change_one") if neighbors is None else (neighbors,)
    found = [_explained(entry, ends, n, relation) for relation in relations]
    if form == "json":
        public = {"low": text(ends[0]), "high": text(ends[1]), "n": n}
        chosen = {key: public[key] for key in entry.needs}
        fields = {"claim": entry.claim, "name": name, "about": entry.about, **chosen}
        print_json(**fields, relations=found, advice=entry.advice)
        return
    click.echo(f"{name}: {entry.about} (claim {entry.claim})")
    for each in found:
        click.echo(f"\n{each['neighbors']}")
        value = _rounded(each["sensitivity"])
        equals = "" if each["formula"] == value else f" {value}" if value.startswith("≈") else f" = {value}"
        click.echo(f"  sensitivity  {each['formula']}{equals}")
        for label, table, answer in zip(("witness", ""), each["tables"], each["answers"], strict=False):
            click.echo(f"  {label:<12} {table} gives {_rounded(answer)}")
    click.echo(f"\n{entry.advice}")


def _list_catalogue(form: str) -> None:
    rows = [[e.claim, e.name, e.about, e.add_remove, e.change_one] for e in catalogue.CATALOGUE.values()]
    heads = ["claim", "name", "about", "add_remove", "change_one"]
    if form == "json":
        print_json(catalogue=[dict(zip(heads, row, strict=True)) for row in rows])
        return
    print_table("Sensitivities (L1); values in [L, U]", heads, rows)
    click.echo("Explain one: lapwing sensitivity mean --low 30 --high 150 -n 4")


def _explained(entry: catalogue.CatalogueEntry, ends: tuple[Any, Any], n: int, relation: Neighbors) -> dict[str, Any]:
    given = {"low": ends[0], "high": ends[1], "n": n}
    value = entry.sensitivity(**{key: given[key] for key in entry.needs}, neighbors=relation)
    pair = entry.witness(*ends, n, relation == "change_one") if n <= _LONGEST_WITNESS else ()
    answers = [entry.statistic(table, *ends) for table in pair]
    return {
        "neighbors": relation,
        "formula": entry.formula(relation),
        "sensitivity": text(value),
        "tables": [_table(table) for table in pair],
        "answers": [", ".join(text(cell) for cell in answer) for answer in answers],
    }


_LONGEST_WITNESS = 10_000


def _table(table: catalogue.Table) -> str:
    """Return the rows as text; long tables are shortened."""
    if len(table) > 6:
        return f"({text(table[0])}, {text(table[1])}, … {len(table)} rows …, {text(table[-1])})"
    return "(" + ", ".join(text(value) for value in table) + ")" if table else "(no rows)"


def _rounded(exactly: str) -> str:
    """Return exact text while it is short, else its decimal to nine places."""
    return exactly if len(exactly) <= 16 else f"≈ {float(Fraction(exactly)):.9g}"


def _shown(value: float, width: float | None = None) -> str:
    """Return a number with thousands separators; a float with the digits that are meaningful for its error bar."""
    if isinstance(value, int):
        return f"{value:,}"
    if not width:
        return f"{value:,.6g}"
    places = max(3 - math.ceil(math.log10(width)), 0)
    return f"{value:,.{places}f}" if places < 20 else f"{value:,.6g}"
