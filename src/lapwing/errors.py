"""What can go wrong, as one tree.

LapwingError
├── RequestError               the caller can fix it; raised before any noise is drawn
│   ├── InvalidEpsilon         ε is not a decimal with at most nine places in (0, 1000]
│   ├── InvalidSensitivity     the sensitivity is not a positive number
│   ├── InvalidScale           the noise scale is not a positive number in range
│   ├── InvalidBounds          low and high are not two numbers with low < high
│   ├── InvalidConfidence      a probability is not between 0 and 1
│   ├── InvalidParameter       another parameter (rows, cells, a wanted error, neighbors) is out of its range
│   ├── MissingParameter       a parameter that is needed was not given, or is empty
│   ├── ConflictingParameters  two parameters were given that exclude each other
│   ├── UselessParameter       a parameter was given that nothing here uses
│   ├── TooLarge               the request needs more of something than is possible
│   ├── OutOfReach             no possible ε gives the error that was asked for
│   ├── InvalidAddress         a URL cannot be read; it is not shown, since it may hold a password
│   ├── InvalidRequest         the parts of a request do not fit together
│   ├── InvalidSize            the number of draws is not a size
│   ├── InvalidValue           a value has no usable type, or is not finite; it is not shown
│   ├── InvalidSource          the description of a table is not consistent
│   ├── UnknownColumn          a query names a column that the source does not declare
│   ├── UnknownArgument        a call has an argument that does not exist; also a TypeError
│   ├── UnknownName            an answer has no statistic or key of this name; also a KeyError
│   ├── UnsupportedQuery       a query that is not on the list of what can be released
│   ├── MissingLibrary         what was asked needs a library that is not installed
│   ├── NoSensitivity          the catalogue has no entry: refuse, never guess
│   └── NoLedger               there is no ledger, and this call makes none
├── BudgetExceeded             refused by the ledger; nothing read, nothing charged
├── LedgerError                the record is damaged, busy or out of reach; nothing is granted
│   ├── AnswerLost             the ledger has an answer to the question, and it cannot be shown
│   └── UnknownHead            a head that was kept is not in the ledger
├── CannotDeclare              keys, bounds or rows per person were looked for, and what was found cannot be declared
├── OutputError                an answer is recorded but could not be written
├── NotSignedIn                a server knows no such token, or it has expired or was revoked
├── NotAllowed                 a server has nothing of this name that this person may use
├── ServerError                a server cannot be started or reached, is too busy, or failed
├── AccessError                the record of people and tokens is damaged, busy or out of reach
└── EngineError                the engine failed; its own message is not shown, since it may quote a cell

Every message says what was asked, what is allowed and what happened to data and budget, and, where it is not obvious,
what to do next.  An error is an output: no message and no field holds a value that noise is meant to protect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Number
from shlex import quote
from typing import Any

NOTHING_DRAWN = "No noise was drawn and nothing was charged."


class Shown(str):
    """The text that messages show for what was asked; errors hold it instead of the object itself."""


def shown(asked: object) -> Shown:
    """Return the text of a public parameter; for anything else only its type."""
    if isinstance(asked, Shown):
        return asked
    if isinstance(asked, int) and asked.bit_length() > 1000:
        return Shown(f"a number of {asked.bit_length()} bits")
    if isinstance(asked, (str, Number)) or (isinstance(asked, tuple) and all(isinstance(i, int) for i in asked)):
        text = f'"{asked}"' if isinstance(asked, str) else str(asked)
        return Shown(text if len(text) <= 60 else text[:57] + "...")
    kind = type(asked).__name__
    return Shown("nothing" if asked is None else f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}")


def _decimal_mark(*asked: object) -> str:
    """Say which decimal mark is read, if one of the numbers that were asked has a comma."""
    comma = any(re.fullmatch(r'"\s*[+-]?\d*,\d+\s*"', str(each)) for each in asked)
    return " The decimal mark is a dot, as in 0.5." if comma else ""


class LapwingError(Exception):
    """The root: catch this to catch everything Lapwing raises on purpose."""


class RequestError(LapwingError, ValueError):
    """The request cannot be met as it stands; the caller can fix it."""

    def __init__(self, asked: object, *details: object) -> None:
        super().__init__(shown(asked), *details)


class InvalidEpsilon(RequestError):
    """InvalidEpsilon(asked)."""

    def __str__(self) -> str:
        is_text = self.args[0].startswith('"')  # of a form, of JSON, of the command line: there are no floats
        types = " A float is rounded down to nine places; a Decimal or a fraction such as 1/3 must be rounded first."
        return (
            f"ε = {self.args[0]} was asked; ε is a decimal with at most nine places, "
            f"0 < ε ≤ 1000, such as 0.1.{_decimal_mark(*self.args)} {NOTHING_DRAWN} "
            f"Smaller ε protects more: 0.1 to 1 is usual.{'' if is_text else types}"
        )


class InvalidSensitivity(RequestError):
    """InvalidSensitivity(asked)."""

    def __str__(self) -> str:
        return (
            f"Sensitivity {self.args[0]} was asked; a sensitivity is a positive number from "
            f"2^-900 to 2^900, such as 1 or 0.12.{_decimal_mark(*self.args)} {NOTHING_DRAWN} "
            "`lapwing sensitivity` lists the known ones; an answer that no person can change needs no noise."
        )


class InvalidScale(RequestError):
    """InvalidScale(asked, array): ``array`` says that the draw was for an array."""

    def __str__(self) -> str:
        asked, array = self.args
        most = "2^50 for an array" if array else "2^1000"
        return (
            f"Noise scale {asked} was asked; a scale is a positive number from 2^-1000 to {most}, "
            f"such as 10, 0.5 or 1/3.{_decimal_mark(asked)} {NOTHING_DRAWN} "
            "The scale of the Laplace mechanism is sensitivity/ε."
        )


class InvalidBounds(RequestError):
    """InvalidBounds(low, high, allowed): ``allowed`` says which bounds are possible, if not all are."""

    def __init__(
        self,
        low: object,
        high: object,
        allowed: str = "bounds are two numbers with low < high, at most 2^900 in size",
    ) -> None:
        super().__init__(low, shown(high), allowed)

    def __str__(self) -> str:
        low, high, allowed = self.args
        return (
            f"Bounds {low} to {high} were asked; {allowed}.{_decimal_mark(low, high)} {NOTHING_DRAWN} "
            "Take bounds from what the column means, never from the data."
        )


class InvalidConfidence(RequestError):
    """InvalidConfidence(asked)."""

    def __str__(self) -> str:
        return (
            f"Probability {self.args[0]} was asked; "
            "it lies between 0 and 1, such as 0.95, and at least 10^-300 from both."
            f"{_decimal_mark(*self.args)} {NOTHING_DRAWN}"
        )


class InvalidParameter(RequestError):
    """InvalidParameter(asked, name, allowed): e.g. name "n", allowed "a whole number, 1 or larger"."""

    def __str__(self) -> str:
        asked, name, allowed = self.args
        return f"{name} = {asked} was asked; {name} is {allowed}.{_decimal_mark(asked)} {NOTHING_DRAWN}"


class MissingParameter(RequestError):
    """MissingParameter(name, advice)."""

    def __init__(self, name: str, advice: str) -> None:
        super().__init__(Shown(name), advice)

    def __str__(self) -> str:
        name, advice = self.args
        return f"Nothing was given for {name}. {NOTHING_DRAWN} {advice}"


class ConflictingParameters(RequestError):
    """ConflictingParameters(one, other, advice)."""

    def __init__(self, one: str, other: str, advice: str) -> None:
        super().__init__(Shown(one), other, advice)

    def __str__(self) -> str:
        one, other, advice = self.args
        return f"{one} and {other} were both given, and only one of them is possible. {NOTHING_DRAWN} {advice}"


class UselessParameter(RequestError):
    """UselessParameter(name, why, advice)."""

    def __init__(self, name: str, why: str, advice: str) -> None:
        super().__init__(Shown(name), why, advice)

    def __str__(self) -> str:
        name, why, advice = self.args
        return f"{name} was given, but {why}. {NOTHING_DRAWN} {advice}"


class TooLarge(RequestError):
    """TooLarge(what, size, most, advice): e.g. what "The number of groups", most "10,000"."""

    def __init__(self, what: str, size: str, most: str, advice: str) -> None:
        super().__init__(Shown(what), size, most, advice)

    def __str__(self) -> str:
        what, size, most, advice = self.args
        return f"{what} is {size}, and at most {most} is possible. {NOTHING_DRAWN} {advice}"


class OutOfReach(RequestError):
    """OutOfReach(error, epsilon, advice): ``epsilon`` is the largest there is."""

    def __str__(self) -> str:
        error, epsilon, advice = self.args
        return f"An error of {error} was asked; even ε = {epsilon} does not reach it. {NOTHING_DRAWN} {advice}"


class InvalidAddress(RequestError):
    """InvalidAddress(what, advice): what "table" or "ledger"; the address itself is never given."""

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(Shown(what), advice)

    def __str__(self) -> str:
        what, advice = self.args
        return (
            f"The address of the {what} cannot be used; it is not shown, since it may hold a password. "
            f"{NOTHING_DRAWN} {advice}"
        )


class InvalidRequest(RequestError):
    """InvalidRequest(what, advice): ``what`` is a sentence without its full stop."""

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(Shown(what), advice)

    def __str__(self) -> str:
        what, advice = self.args
        return f"{what}. {NOTHING_DRAWN} {advice}"


class InvalidSize(RequestError):
    """InvalidSize(asked)."""

    def __str__(self) -> str:
        return (
            f"Size {self.args[0]} was asked; a size is a whole number, 0 or larger, or a tuple of them, "
            f"that memory can hold. {NOTHING_DRAWN}"
        )


class InvalidValue(RequestError):
    """InvalidValue(kind, advice): ``kind`` is a type or "not finite", never the value itself."""

    def __init__(self, kind: str, advice: str) -> None:
        super().__init__(Shown(kind), advice)

    def __str__(self) -> str:
        kind, advice = self.args
        return f"A value was given that is {kind}. {NOTHING_DRAWN} {advice}"


class NoSensitivity(RequestError):
    """NoSensitivity(asked, known): the catalogue has no such entry."""

    def __str__(self) -> str:
        asked, known = self.args
        return (
            f"The catalogue of sensitivities has no {asked} (it has {', '.join(known)})."
            f"{suggestion(asked, known)} {NOTHING_DRAWN} "
            "Prove a bound of your own and give it to the mechanism: any upper bound is safe."
        )


class NoLedger(RequestError):
    """NoLedger(where); of a source NoLedger(where, source, total): ``total`` is a text, None if the source has none."""

    def __init__(self, where: str, *details: object) -> None:
        super().__init__(Shown(where), *details)  # a path is not shortened: people look for the file

    def __str__(self) -> str:
        where, *of_source = self.args
        told = (
            f'There is no ledger at "{where}". Nothing was charged. If there was one, restore a backup before anything '
            "is released: a new ledger would begin with the full budget."
        )
        if not of_source:
            return (
                f"{told} If there was none, make one with the total ε that may ever be spent: "
                "`lapwing ledger FILE create --epsilon 2`, or Ledger.open(…, epsilon=2)."
            )
        source, total = of_source
        if total is None:
            return f"{no_total(str(source))} {told}"
        return f"{told} If there was none, the first release makes one with ε = {total}."


class InvalidSource(RequestError):
    """InvalidSource(name, what, advice)."""

    def __str__(self) -> str:
        name, what, advice = self.args
        return f"Source {name} {what}. No row was read and nothing was charged. {advice}"


class UnknownColumn(RequestError):
    """UnknownColumn(asked, source, known)."""

    def __str__(self) -> str:
        asked, source, known = self.args
        some = f"{', '.join(known[:20])}{', …' if len(known) > 20 else ''}" if known else "it declares none"
        return (
            f'{asked} is not a declared column of "{source}" ({some}).{suggestion(asked, known)} '
            "No row was read and nothing was charged."
        )


class UnknownArgument(RequestError, TypeError):
    """UnknownArgument(asked, call, meant, known): ``meant`` is the argument of that meaning, or nothing."""

    def __str__(self) -> str:
        asked, call, meant, known = self.args
        asked = asked.strip('"')
        hint = f' Did you mean "{meant}"?' if meant else suggestion(asked, known)
        return f"{call} has no argument {asked} (it has {', '.join(known)}).{hint} {NOTHING_DRAWN}"


class UnknownName(RequestError, KeyError):
    """UnknownName(asked, what, known): ``what`` says which answer."""

    def __str__(self) -> str:
        asked, what, known = self.args
        return f"{what} has nothing named {asked} (it has {', '.join(known)}).{suggestion(asked, known)}"


class UnsupportedQuery(RequestError):
    """UnsupportedQuery(what, advice)."""

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(Shown(what), advice)

    def __str__(self) -> str:
        what, advice = self.args
        return f"The query has {what}, which cannot be released. No row was read and nothing was charged. {advice}"


def installing(extra: str) -> str:
    """Return the command that installs the libraries of an extra: Lapwing is on no index."""
    return f"pip install '.[{extra}]' in the folder of Lapwing's clone"


class MissingLibrary(RequestError):
    """MissingLibrary(name, extra): ``extra`` is that of Lapwing which brings it, if one does."""

    def __init__(self, name: str, extra: str | None = None) -> None:
        super().__init__(Shown(name), extra)

    def __str__(self) -> str:
        name, extra = self.args
        install = f"pip install {quote(str(name))}" if extra is None else installing(extra)
        return f"{name} is needed for this and is not installed. Install it: {install}"


class BudgetExceeded(LapwingError):
    """BudgetExceeded(asked, left, total, letter, who, ledger): amounts as text, ``letter`` ε or δ."""

    def __str__(self) -> str:
        asked, left, total, letter, who, ledger = self.args
        fits = f"Ask for {letter} ≤ {left}" if left != "0" else "Nothing more can be asked"
        return (
            f"This release asks for {letter} = {asked}, and {who} has {left} left of {total}. "
            f"No row was read and nothing was charged. {fits}, or see `lapwing ledger {quote(ledger)}`."
        )


class LedgerError(LapwingError):
    """LedgerError(name, what, advice)."""

    def __str__(self) -> str:
        name, what, advice = self.args
        return f'Ledger "{name}" {what}. Nothing was granted. {advice}'


class AnswerLost(LedgerError):
    """AnswerLost(name, what, advice): the ledger has an answer to the question, and it cannot be shown."""


class UnknownHead(LedgerError):
    """UnknownHead(name)."""

    def __str__(self) -> str:
        return (
            f'This head is not in the ledger "{self.args[0]}": the ledger was rolled back or rewritten, or the head is '
            "of another ledger. Nothing was granted. Compare the head with the one that you kept; if it is the same, "
            "restore the ledger from a copy."
        )


class CannotDeclare(LapwingError):
    """CannotDeclare(what, advice)."""

    def __str__(self) -> str:
        what, advice = self.args
        return f"{what}. What was charged stays charged. {advice}"


class OutputError(LapwingError):
    """OutputError(path, entry)."""

    def __str__(self) -> str:
        path, entry = self.args
        kept = "Nothing was charged" if entry is None else f"The answer is recorded as entry {entry}"
        return f'"{path}" could not be written. {kept}: ask again, at no charge.'


class NotSignedIn(LapwingError):
    """NotSignedIn(): why is not said."""

    def __str__(self) -> str:
        return "A valid token is needed. Nothing was read and nothing was charged."


class NotAllowed(LapwingError):
    """NotAllowed(): the same for what is not there and for what belongs to others."""

    def __str__(self) -> str:
        return "There is nothing here that you may use. Nothing was read and nothing was charged."


class ServerError(LapwingError):
    """ServerError(what, advice): ``what`` is a sentence without its full stop."""

    def __str__(self) -> str:
        what, advice = self.args
        return f"{what}. {advice}"


class AccessError(LapwingError):
    """AccessError(name, what, advice)."""

    def __str__(self) -> str:
        name, what, advice = self.args
        return f'The record of people and tokens "{name}" {what}. {advice}'


class EngineError(LapwingError):
    """EngineError(source, what, budget, advice)."""

    def __str__(self) -> str:
        source, what, budget, advice = self.args
        return f'The table of "{source}" {what}. {budget} {advice}'


def as_told(name: str, message: str) -> LapwingError:
    """Return the error of this name, with the message that another program told; a ServerError for unknown names."""
    kind = globals().get(name)
    if not isinstance(kind, type) or not issubclass(kind, LapwingError):
        kind = ServerError
    told: Any = type(
        kind.__name__,
        (kind,),
        {"__str__": lambda own: message, "__reduce__": lambda own: (as_told, (name, message)), "__doc__": kind.__doc__},
    )
    error: LapwingError = told.__new__(told)
    return error


def no_total(source: str) -> str:
    """Return the sentence for a source without a total ε and without a ledger: what is missing, and how to give it."""
    return (
        f'Source "{source}" gives no total ε, the ε that may ever be spent: give it, for example by '
        "lw.Source(…, epsilon=1) in Python, or by the line epsilon = 1 in a source file."
    )


def suggestion(asked: object, known: Iterable[str]) -> str:
    """Return ' Did you mean "…"?' when one of ``known`` is close to what was asked."""
    close = get_close_matches(str(asked).strip('"'), list(known), n=1)
    return f' Did you mean "{close[0]}"?' if close else ""
