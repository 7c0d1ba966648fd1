"""Claim L6: a copy that is put back leaves no more than it has, less what was charged after the last common entry."""

import tempfile
from fractions import Fraction as F
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from lapwing.ledger.backup import back_up, restore
from lapwing.ledger.ledger import Ledger

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("charge"), st.integers(1, 9), st.sampled_from([None, "ana", "bob"])),
        st.tuples(st.just("answer"), st.integers(0, 9), st.none()),
        st.tuples(st.just("total"), st.integers(5, 60), st.none()),
        st.tuples(st.just("cap"), st.integers(1, 30), st.sampled_from(["ana", "bob"])),
    ),
    max_size=8,
)


def follow(ledger, steps, name):
    """Take the steps that the ledger grants; return what was charged in all, and by whom.

    A charge of before that is answered now counts once more: a copy of before may get another answer.
    """
    charged = {None: F(0), "ana": F(0), "bob": F(0)}
    for place, (step, amount, who) in enumerate(steps):
        amount = F(amount, 10)
        if step == "answer":
            waiting = [each for each in ledger.entries() if each.kind == "charge" and not each.answered]
            for each in waiting[place : place + 1]:
                ledger.record(each, place)
                for whose in {None, each.analyst} if each.question[0] != name else set():
                    charged[whose] += each.epsilon
        elif step == "total":
            ledger.set_total(amount)
        elif step == "cap":
            ledger.set_cap(who, amount)
        elif amount <= min(ledger.remaining, ledger.budget(who).remaining if who else amount):
            ledger.charge([name, place], amount, analyst=who)
            charged[None] += amount
            if who:
                charged[who] += amount
    return charged


@settings(max_examples=10, deadline=None)
@given(STEPS, STEPS, st.booleans())
@example([], [("total", 5, None)], False)  # then less is left of the total than of a cap
def test_L6_what_was_charged_in_any_of_two_histories_is_spent(before, after, other_first):
    with tempfile.TemporaryDirectory() as folder:
        where, copy, older = str(Path(folder, "a")), Path(folder, "b"), Path(folder, "c")
        ledger = Ledger.open(where, epsilon=3)
        for name in ("ana", "bob"):
            ledger.add_analyst(name, 2)
        back_up(ledger, older)
        common = follow(ledger, before, "before")
        back_up(ledger, copy)
        if other_first:  # the ledger goes on from an even older copy, and what it charges is in neither
            restore(where, older, write_off=True)
        ledger = Ledger.open(where)
        charged = follow(ledger, after, "after")
        held, caps = ledger.total, {name: ledger.budget(name).total for name in ("ana", "bob")}
        copied = Ledger.open(copy)
        limit = {None: min(held, copied.total)} | {who: min(cap, copied.budget(who).total) for who, cap in caps.items()}
        restore(where, copy, write_off=True)
        found = Ledger.open(where)
        assert found.spent == common[None]
        for who, most in limit.items():
            own = found.budget(who)
            left = max(most - common[who] - charged[who], 0)
            assert max(own.total - own.spent, 0) == left, who
            assert own.remaining == min(left, found.remaining), who
