"""What fails between the charge and the record shows neither exact integers nor noisy ones that are not recorded."""

import traceback

import pytest

import lapwing as lw
from lapwing import errors
from lapwing.ledger.ledger import Ledger
from lapwing.noise.entropy import EntropyForTests

EXACT = "8123456789"


class Interrupted(EntropyForTests):
    """Randomness that ends with an interrupt from the keyboard."""

    def stream(self):
        raise KeyboardInterrupt(EXACT)

    bits = stream


@pytest.fixture
def source(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("y\n" + "1000000000\n" * 8 + "123456789\n")
    columns = {"y": lw.number(0, 10**9, integer=True)}
    return lw.Source(str(table), name="t", columns=columns, epsilon=9, delta="0.01", ledger=tmp_path / "t.ledger")


def seen(error):
    """Return everything that a tool shows of an error: its text, and the variables of all its frames and causes."""
    found = []
    while error is not None:
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if "lapwing" in frame.f_code.co_filename]
        own = [frame for frame in frames if "/tests/" not in frame.f_code.co_filename]
        found += [repr(error), *(repr(value) for frame in own for value in frame.f_locals.values())]
        error = error.__context__
    return "\n".join(found)


@pytest.mark.parametrize("ask", [lambda t, **n: t.release(lw.sum("y"), **n), lambda t, **n: t.bounds("y", **n)])
def test_an_interrupt_while_noise_is_added_stays_one_and_carries_no_exact_integers(source, ask):
    with pytest.raises(KeyboardInterrupt) as caught:
        ask(source, epsilon=1, entropy=Interrupted(1))
    assert caught.value.args == ()
    assert EXACT not in seen(caught.value)
    assert source.ledger.spent == 1
    ask(source, epsilon=1, entropy=EntropyForTests(1))
    assert source.ledger.spent == 1


@pytest.mark.parametrize("error", [errors.LedgerError("t", "is busy", "Wait."), MemoryError(), KeyboardInterrupt()])
def test_a_failure_to_record_shows_no_integer_that_is_not_recorded(source, monkeypatch, error):
    def fail(ledger, entry, answer):
        text = str(answer)
        assert len(text) > 10
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "record", fail)
        with pytest.raises(type(error)) as caught:
            source.release(lw.sum("y"), epsilon=1, entropy=EntropyForTests(1))
    shown = source.release(lw.sum("y"), epsilon=1, entropy=EntropyForTests(1))
    assert shown.completed
    assert str(shown.answer["cells"][0][0][0]) not in seen(caught.value)
    assert len(str(shown.answer["cells"][0][0][0])) > 6
    assert source.ledger.spent == 1


@pytest.mark.parametrize("own_first", [True, False])
def test_of_two_that_compute_one_charge_at_once_one_is_told_that_it_was_charged(source, monkeypatch, own_first):
    original, waiting, other = Ledger.record, [], []

    def release(number):
        return source.release(lw.sum("y"), epsilon=1, entropy=EntropyForTests(number))

    def record(ledger, entry, answer):
        if not waiting:
            waiting.append((entry, answer))
            other.append(release(2))
        elif own_first:
            original(ledger, *waiting[0])
        return original(ledger, entry, answer)

    monkeypatch.setattr(Ledger, "record", record)
    first = release(1)
    assert (first.repeated, other[0].repeated, release(3).repeated) == (False, True, True)
    assert (first.entry, first.answer["cells"]) == (other[0].entry, other[0].answer["cells"])
    assert "Charged ε = 1" in str(first)
    assert "nothing more was charged" in str(other[0])
    assert source.ledger.spent == 1
