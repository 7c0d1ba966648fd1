"""What a ledger holds after a copy of it was put back, by claim L6: computed from plain records of both."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction

from .bookkeeping import Book, DueRefusal, Line, hashes, written

NOTE = "written off: charged after the backup that was put back"
UNKNOWN_NOTE = "written off: nobody knows what was charged after the backup that was put back"
LOST_ANSWER = {"lost": "It may have been given after the backup that was put back."}


@dataclass(frozen=True)
class Due:
    """The record afterwards, the lines that write something off, and what is said if they are not allowed.

    If nothing is written off, nothing is refused and said.
    """

    book: Book
    added: list[Line]
    words: str


def put_back(copy: Book, here: Book | None, head: str | None) -> Due:
    """Return what is due when a copy is put back; ``here`` is the ledger that is there, ``head`` one that was kept."""
    book = deepcopy(copy)
    known = len(book.lines)
    if here is None:
        if head == copy.lines[-1].hash:
            return Due(book, [], "")
        _write_off_all(book)
        why = "the head that was kept is not its last entry" if head else "no head that was kept elsewhere was given"
        told = (
            f"was not put back: {why}, so nobody knows what was charged after the copy was taken. Nothing was granted."
        )
        return Due(book, book.lines[known:], told)
    if here.lines[0].hash != copy.lines[0].hash:
        raise DueRefusal("was not replaced: the copy is that of another ledger")
    unknown = head is not None and head not in {each.hash for each in copy.lines}
    only_here = [each for each in here.lines if (each.number, each.hash) not in hashes(copy.lines)]
    words = _lost_words(copy, here, only_here)
    if unknown:
        words.append("the copy lacks the head that was kept elsewhere, so nobody knows what was charged after it")
        _write_off_all(book)
    else:
        _write_off(book, here, only_here)
    told = f"was not replaced: {'; '.join(words)}. Nothing was granted." if words else ""
    return Due(book, book.lines[known:], told)


def _lost_charges(here: Book, only_here: Iterable[Line]) -> tuple[list[Line], list[Line]]:
    """Return the charges that the copy lacks, and those that both have and whose answer here the copy lacks."""
    lost = list(only_here)
    numbers = [each.number for each in lost]
    answered = [each.charge for each in lost if each.kind == "answer"]
    again = [each for each in here.lines if each.number in answered and each.number not in numbers]
    return [each for each in lost if each.kind == "charge"], again


def _lost_words(copy: Book, here: Book, only_here: list[Line]) -> list[str]:
    if not only_here:
        return []
    charges, again = _lost_charges(here, only_here)
    answers = f" and {len(again)} answers to charges that it has," if again else ""
    deltas = _sum(each.delta for each in (*charges, *again))
    amounts = f"ε = {written(_sum(each.epsilon for each in (*charges, *again)))}"
    amounts += f", δ = {written(deltas)}" if deltas else ""
    words = [
        f"the copy lacks {len(only_here)} of its entries, with {len(charges)} charges{answers} of {amounts} in all"
    ]
    missing = sorted(set(here.caps) - set(copy.caps))
    return words + ([f"it does not know the analysts {', '.join(missing)}"] if missing else [])


def _write_off(book: Book, here: Book, only_here: list[Line]) -> None:
    """Lower the totals and the caps by what was charged, or answered, only in the ledger that is replaced."""
    charges, again = _lost_charges(here, only_here)
    spending = [*charges, *again]

    def lowered(own: Fraction, theirs: Fraction, spent: Fraction, lost: Fraction) -> Fraction:
        left = max(min(own, theirs) - spent - lost, Fraction(0))
        return min(own, spent + left)

    lost, lost_delta = _sum(each.epsilon for each in spending), _sum(each.delta for each in spending)
    total = lowered(book.total, here.total, book.spent, lost)
    _lower_total(book, total, lowered(book.total_delta, here.total_delta, book.spent_delta, lost_delta), NOTE)
    for name in sorted(book.caps):
        cap, spent = book.caps[name]
        if name in here.caps:
            mine = _sum(each.epsilon for each in spending if each.analyst == name)
            new = lowered(cap, here.caps[name][0], spent, mine)
            if new != cap:
                book.set_cap(name, new, NOTE)


def _write_off_all(book: Book) -> None:
    """Leave nothing, and no charge that may still be answered."""
    for each in [line for line in book.lines if line.kind == "charge" and book.answer_to(line.number) is None]:
        book.add("answer", charge=each.number, answer=LOST_ANSWER, note=UNKNOWN_NOTE)
    _lower_total(book, min(book.total, book.spent), min(book.total_delta, book.spent_delta), UNKNOWN_NOTE)


def _lower_total(book: Book, total: Fraction, total_delta: Fraction, note: str) -> None:
    if (total, total_delta) != (book.total, book.total_delta):
        book.set_total(total, total_delta, note)


def _sum(amounts: Iterable[Fraction | None]) -> Fraction:
    return sum((each or Fraction(0) for each in amounts), Fraction(0))
