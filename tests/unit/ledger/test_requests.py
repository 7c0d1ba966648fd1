"""Requests for a higher cap: asked with a reason, decided once, and all of it in the chain."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from fractions import Fraction

import pytest

from lapwing import errors
from lapwing.ledger import requests as limits
from lapwing.ledger.chain import digest
from lapwing.ledger.ledger import Ledger


@pytest.fixture
def ledger(where):
    opened = Ledger.open(where, epsilon=3)
    opened.add_analyst("ana", 1)
    opened.add_analyst("bea", 1)
    return opened


def test_a_request_that_is_granted_raises_the_cap_and_nothing_before_does(ledger):
    ledger.charge("a", 1, analyst="ana")
    asked = ledger.request("ana", "1.5", "The second wave of the survey.").number
    assert ledger.budget("ana").total == 1
    with pytest.raises(errors.BudgetExceeded):
        ledger.charge("b", "0.5", analyst="ana")
    entry = ledger.grant(asked, note="for one year")
    assert (entry.kind, entry.charge, entry.analyst, entry.epsilon) == ("grant", asked, "ana", Fraction(3, 2))
    ledger.charge("b", "0.5", analyst="ana")
    assert (ledger.budget("ana").total, ledger.budget("ana").remaining) == (Fraction(3, 2), 0)
    (found,) = ledger.requests()
    assert found.to_dict() == {
        "request": asked, "time": found.time, "analyst": "ana", "cap": "1.5",
        "reason": "The second wave of the survey.", "state": "granted", "decided": entry.time, "granted": "1.5",
        "note": "for one year",
    }  # fmt: skip
    assert ledger.verify() == 7


def test_less_can_be_granted_and_a_request_declined_or_withdrawn(ledger):
    first, second, third = (ledger.request("ana", 2 + i, "more").number for i in range(3))
    ledger.grant(first, "1.25")
    ledger.decline(second, note="not this year")
    ledger.withdraw(third, "ana")
    assert ledger.budget("ana").total == Fraction(5, 4)
    assert [(each.state, each.granted, each.note) for each in ledger.requests("ana")] == [
        ("granted", Fraction(5, 4), None), ("declined", None, "not this year"), ("withdrawn", None, None)
    ]  # fmt: skip
    assert ledger.requests("bea") == []
    assert ledger.budget("bea").total == 1


def test_a_request_is_decided_once(ledger):
    asked = ledger.request("ana", 2, "more").number
    ledger.grant(asked)
    for again in (lambda: ledger.grant(asked), lambda: ledger.decline(asked), lambda: ledger.withdraw(asked, "ana")):
        with pytest.raises(errors.InvalidRequest, match=f"Request {asked} was granted before"):
            again()
    assert ledger.verify() == 5


GRANT = """
import sys
from lapwing import errors
from lapwing.ledger.ledger import Ledger
try:
    print(Ledger.open(sys.argv[1]).grant(int(sys.argv[2]), sys.argv[3]).number)
except errors.InvalidRequest:
    print("decided before")
"""


def test_T25_of_owners_who_grant_at_once_one_does(where, ledger):
    asked = str(ledger.request("ana", 2, "more").number)
    started = [
        subprocess.Popen([sys.executable, "-c", GRANT, where, asked, amount], stdout=subprocess.PIPE, text=True)
        for amount in ("1.25", "1.5", "1.75", "2")
    ]
    told = [process.communicate()[0].strip() for process in started]
    assert told.count("decided before") == 3
    assert [each.kind for each in ledger.entries()].count("grant") == 1
    assert ledger.verify() == 5


def test_what_cannot_be_asked_or_granted_is_refused_and_leaves_nothing(ledger):
    asked = ledger.request("ana", 2, "more").number
    before = ledger.head
    for call in (
        lambda: ledger.request("ana", 1, "no higher cap"),
        lambda: ledger.request("carl", 2, "has no cap yet"),
        lambda: ledger.request("ana", 2, "two\nlines"),
        lambda: ledger.request("ana", 2, "\u202eback to front"),
        lambda: ledger.request("ana", 2, ""),
        lambda: ledger.request("ana", 2, "x" * (limits.LONGEST_REASON + 1)),
        lambda: ledger.request("ana", "nan", "more"),
        lambda: ledger.grant(asked, 1),
        lambda: ledger.grant(asked, "2.000000001"),
        lambda: ledger.grant(asked, 0),
        lambda: ledger.grant(asked, note=""),
        lambda: ledger.grant(1),
        lambda: ledger.decline(99),
        lambda: ledger.withdraw(asked, "bea"),
    ):
        with pytest.raises(errors.RequestError):
            call()
    assert ledger.head == before
    ledger.set_cap("ana", 2)
    with pytest.raises(errors.InvalidRequest, match="ana has a cap of 2 by now"):
        ledger.grant(asked)


def test_nobody_has_many_open_requests_or_makes_many_in_a_day(ledger, monkeypatch):
    numbers = [ledger.request("ana", 2, "more").number for _ in range(limits.MOST_OPEN)]
    with pytest.raises(errors.InvalidRequest, match="You have 5 open requests"):
        ledger.request("ana", 2, "more")
    ledger.request("bea", 2, "others are not held up")
    monkeypatch.setattr(limits, "MOST_A_DAY", 6)
    ledger.decline(numbers[0])
    ledger.request("ana", 2, "more")
    ledger.decline(numbers[1])
    with pytest.raises(errors.InvalidRequest, match="You have made 6 requests within 24 hours"):
        ledger.request("ana", 2, "more")


def rehashed(path, change):
    """Change a ledger and compute all hashes anew, as someone who can write the file might."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        connection.execute(change)
        previous = "0" * 64
        for row in connection.execute("SELECT * FROM lapwing_entries ORDER BY number").fetchall():
            fields = dict(row) | {"previous": previous}
            previous = digest(fields)
            connection.execute(
                "UPDATE lapwing_entries SET previous = ?, hash = ? WHERE number = ?",
                (fields["previous"], previous, row["number"]),
            )
        connection.execute("UPDATE lapwing_ledger SET hash = ?", (previous,))
        connection.commit()


@pytest.mark.parametrize(
    ("change", "entry"),
    [
        ("UPDATE lapwing_entries SET epsilon = 2500000000, cap = 2500000000 WHERE number = 4", 4),  # more than asked
        ("UPDATE lapwing_entries SET epsilon = 900000000, cap = 900000000 WHERE number = 4", 4),  # a lower cap
        ("UPDATE lapwing_entries SET charge = 6 WHERE number = 4", 4),  # no request
        ("UPDATE lapwing_entries SET charge = NULL WHERE number = 4", 4),
        ("UPDATE lapwing_entries SET analyst = NULL WHERE number = 4", 4),
        ("UPDATE lapwing_entries SET cap = 2000000000 WHERE number = 3", 3),  # a request that raises the cap itself
        ("UPDATE lapwing_entries SET epsilon = 1000000000 WHERE number = 3", 3),  # for the cap that there is
        ("UPDATE lapwing_entries SET note = NULL WHERE number = 3", 3),
        ("UPDATE lapwing_entries SET kind = 'wish' WHERE number = 3", 3),
        ("UPDATE lapwing_entries SET kind = 'grant', epsilon = 2200000000 WHERE number = 6", 6),  # a declined one
    ],
)
def test_L4_a_chain_of_requests_hashed_anew_still_has_to_follow(tmp_path, change, entry):
    path = tmp_path / "a.ledger"
    ledger = Ledger.open(path, epsilon=3)
    ledger.add_analyst("ana", 1)
    ledger.grant(ledger.request("ana", 2, "more").number, "1.5")
    ledger.decline(ledger.request("ana", "2.5", "even more").number)
    rehashed(path, "UPDATE lapwing_entries SET time = time")
    assert Ledger.open(path).verify() == 6  # the tool itself changes nothing
    rehashed(path, change)
    with pytest.raises(errors.LedgerError, match=f"entry {entry}: does not add up"):
        Ledger.open(path)


def test_a_request_that_was_decided_is_shown_as_one_entry(ledger):
    granted, declined = (ledger.request("ana", 2, "more").number for _ in range(2))
    ledger.grant(granted)
    ledger.decline(declined)
    assert [(ledger.entry(n).kind, ledger.entry(n).answered) for n in (granted, declined)] == [("request", False)] * 2


def test_a_decision_whose_request_is_gone_is_told(tmp_path):
    ledger = Ledger.open(tmp_path / "a.ledger", epsilon=3)
    ledger.add_analyst("ana", 1)
    ledger.decline(ledger.request("ana", 2, "more").number)
    with closing(sqlite3.connect(tmp_path / "a.ledger")) as connection:
        connection.execute("DELETE FROM lapwing_entries WHERE number = 3")
        connection.commit()
    with pytest.raises(errors.LedgerError, match="entry 4: there is no request 3"):
        ledger.requests()
