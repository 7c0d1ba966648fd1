"""Claim K5: how many rows people have, found privately."""

import json
from bisect import bisect_left
from collections import Counter
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing import errors
from lapwing.engine.connect import connect
from lapwing.engine.row_counts import lower_row_counts
from lapwing.noise.entropy import EntropyForTests
from lapwing.question.schema import MAX_ROWS_PER_PERSON, make_schema
from lapwing.release.recall import recall
from lapwing.release.rows_per_person import BINS, BORDERS, RowsPerPerson, RowsTally, plan_rows_per_person

from ..tables import FORMS, PERSONS, make

PEOPLE = ["p", "q", "r", None]


def schema_of(k=None, neighbors="add_remove", columns=None):
    return make_schema("t", columns or {}, "p", k, neighbors, None)


def source_of(folder, frame, **options):
    given = {"name": "t", "person": "p", "columns": {"x": "number"}, "epsilon": 100, "ledger": folder / "t.ledger"}
    return lw.Source(frame, **{**given, **options})


def counted(schema, table, where=None):
    """Return the number of people in every bin, from the engine."""
    asked = connect(table, "t")
    plan = plan_rows_per_person(schema, epsilon=1, where=where).on(asked.dialect)
    return found_in(asked.tally(schema, plan.lowered).sums)


def found_in(sums):
    found = dict(zip(*(each.tolist() for each in sums), strict=True)) if sums else {}
    return [found.get(i, 0) for i in range(BINS)]


def by_hand(people):
    """Return the same from the people of all rows, counted in Python."""
    bins = Counter(bisect_left(BORDERS, rows) for who, rows in Counter(people).items() if who is not None)
    return [bins[i] for i in range(BINS)]


def made(people, epsilon=1, neighbors="add_remove"):
    plan = plan_rows_per_person(schema_of(neighbors=neighbors), epsilon=epsilon)
    return RowsPerPerson(plan, 2, False, {"people": [*people, *[0] * (BINS - len(people))]}, F(1))


# --- the histogram ---


def test_the_borders_are_public_and_reach_the_largest_k():
    assert BORDERS[:13] == (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 50, 100)
    assert BORDERS[-1] == MAX_ROWS_PER_PERSON
    assert list(BORDERS) == sorted(set(BORDERS))


@pytest.mark.parametrize("form", FORMS)
def test_K5_every_form_of_table_gives_the_same_histogram(form, tmp_path):
    rows = [{"person": PERSONS[i * i % 7], "x": float(i)} for i in range(90)]
    rows += [{"person": "many", "x": 1.0}] * 60
    if form in ("csv", "csv.gz", "tsv"):  # an empty cell of a CSV file is missing
        rows = [{**row, "person": row["person"] or None} for row in rows]
    schema = make_schema("t", {"x": "number"}, "person", None, "add_remove", None)
    table = make(rows, form, tmp_path, ("person", "x"))
    assert counted(schema, table) == by_hand([row["person"] for row in rows])
    assert counted(schema, table, "x >= 30") == by_hand([row["person"] for row in rows if row["x"] >= 30])


def test_K5_a_person_is_in_the_bin_of_their_number_of_rows_at_every_border():
    numbers = [each + d for each in BORDERS[:17] for d in (0, 1)]
    frame = pd.DataFrame({"p": np.repeat(np.arange(len(numbers)), numbers)})
    assert counted(schema_of(), frame) == by_hand(frame.p.tolist())
    borders = lower_row_counts(schema_of(), None, (1, 3)).sums
    assert "WHEN c <= 1 THEN 0 WHEN c <= 3 THEN 1 ELSE 2 END" in borders


@given(
    st.lists(st.sampled_from(PEOPLE), max_size=30),
    st.lists(st.sampled_from(["p"]), max_size=40),
    st.sampled_from([None, 1, 3]),
)
@settings(max_examples=25)
def test_K5_one_person_moves_the_histogram_by_at_most_the_sensitivity(rows, instead, k):
    def histogram(people):
        return counted(schema_of(k), pd.DataFrame({"p": pd.Series(people, dtype=object)}))

    whole, others = histogram(rows), [each for each in rows if each != "p"]
    without, changed = histogram(others), histogram([*others, *instead])
    assert sum(abs(a - b) for a, b in zip(whole, without, strict=True)) == ("p" in rows)
    assert sum(abs(a - b) for a, b in zip(whole, changed, strict=True)) <= 2


def test_K5_the_sensitivity_is_attained_and_does_not_depend_on_the_declared_k():
    for k in (None, 1, 500):
        for neighbors, most in (("add_remove", 1), ("change_one", 2)):
            plan = plan_rows_per_person(schema_of(k, neighbors), epsilon="0.5")
            assert (plan.sensitivity, plan.scale) == (most, most / F("0.5"))
    one, two, none = [by_hand(["p"] * rows) for rows in (1, 2, 0)]
    assert sum(abs(a - b) for a, b in zip(one, none, strict=True)) == 1
    assert sum(abs(a - b) for a, b in zip(one, two, strict=True)) == 2


def test_K5_what_is_recorded_is_the_histogram_plus_noise(tmp_path):
    frame = pd.DataFrame({"p": [*range(50), *range(20), *[3] * 30], "x": 1.0})
    for neighbors, scale in (("add_remove", 2), ("change_one", 4)):
        source = source_of(tmp_path, frame, neighbors=neighbors, ledger=tmp_path / f"{neighbors}.ledger")
        found = source.rows_per_person(epsilon="0.5", entropy=EntropyForTests(4))
        noise = lw.discrete_laplace(scale, BINS, entropy=EntropyForTests(4)).tolist()
        assert found.answer["people"] == [a + b for a, b in zip(by_hand(frame.p.tolist()), noise, strict=True)]
        assert source.ledger.spent == F("0.5")
        assert "NOT PRIVATE" in str(found)
        assert found.to_dict()["private"] is False


# --- the error bars ---


def law_of_sum(scale, draws, size=2**15):
    """Return P(X1 + … + Xn = k) for k = 0, 1, …, the noise P(X = x) ∝ e^(-|x|/s), by powers of its transform."""
    at = np.minimum(np.arange(size), size - np.arange(size))
    law = np.tanh(1 / (2 * scale)) * np.exp(-at / scale)
    return np.fft.irfft(np.fft.rfft(law) ** draws, size)[: size // 2]


@pytest.mark.parametrize("epsilon", ["0.1", "1", "0.02"])
def test_K5_all_bars_hold_at_once_with_95_percent(epsilon):
    found, failed = made([], epsilon), 0.0
    for i, (off, off_beyond) in enumerate(found._offs):
        for draws, margin in ((i + 1, off), (BINS - i - 1, off_beyond)):
            law = law_of_sum(1 / float(F(epsilon)), draws)
            tail = 2 * law[int(np.floor(margin)) + 1 :].sum()
            assert tail <= 1 / 1000 + 1e-9
            failed += tail
    assert 0.01 < failed < 0.05


@given(st.data())
def test_K5_while_the_noise_stays_within_its_margins_every_share_is_in_its_bar(data):
    truth = data.draw(st.lists(st.integers(0, 300), min_size=BINS, max_size=BINS))
    noise = data.draw(st.lists(st.integers(-4, 4), min_size=BINS, max_size=BINS))
    found = made([a + b for a, b in zip(truth, noise, strict=True)], "0.1")
    for i, (k, (value, low, high)) in enumerate(found.shares.items()):
        off, off_beyond = found._offs[i]
        assert 0 <= low <= value <= high <= 1
        if abs(sum(noise[: i + 1])) <= off and abs(sum(noise[i + 1 :])) <= off_beyond and sum(truth):
            assert low <= sum(truth[: i + 1]) / sum(truth) <= high
            assert k == BORDERS[i]


# --- the rule ---


def test_k_is_the_smallest_that_enough_people_stay_within():
    found = made([900, 40, 20, 20, 10, 5, 5], 100)
    for share, k in (("0.5", 1), ("0.9", 1), ("0.901", 2), ("0.94", 2), ("0.95", 3), ("0.99", 5), ("0.9999", 7)):
        assert found.at(share).rows_per_person == k, share
        assert found.at(share).to_toml() == f"rows_per_person = {k}\n"
    assert made([0] * 25 + [500], 1).rows_per_person == MAX_ROWS_PER_PERSON
    assert found.rows_per_person == 3
    for bad in (0, 1, 95, "x", -1, float("nan"), None, "0"):
        with pytest.raises(errors.RequestError, match="share"):
            found.at(bad)


def test_few_people_give_no_k(tmp_path):
    source = source_of(tmp_path, pd.DataFrame({"p": [1, 1, 2], "x": 1.0}))
    found = source.rows_per_person(epsilon="0.01", entropy=EntropyForTests(2))
    assert not found.found
    assert "not above the noise" in str(found)
    assert (found.to_dict()["rows_per_person"], found.to_dict()["within"]) == (None, None)
    for ask in (lambda: found.rows_per_person, found.to_toml):
        with pytest.raises(errors.CannotDeclare, match="What was charged stays charged"):
            ask()


# --- the whole way ---

FRAME = pd.DataFrame({"p": [*range(1000), *range(300), *[3] * 5000], "x": 1.0, "q": 1})


def test_a_source_without_rows_per_person_answers_nothing_else(tmp_path):
    source = source_of(tmp_path, FRAME, delta="0.1")
    for ask in (
        lambda: source.plan(lw.count(), epsilon=1),
        lambda: source.release(lw.count(), epsilon=1),
        lambda: source.release(lw.people(), epsilon=1),
        lambda: source.release(lw.proportion("x > 1"), epsilon=1),
        lambda: source.sql("SELECT COUNT(*) FROM t", epsilon=1),
        lambda: source.bounds("x", epsilon=1),
        lambda: source.declare(x="text").discover("x", epsilon=1, delta="0.001"),
    ):
        with pytest.raises(errors.InvalidSource, match="not rows_per_person") as refusal:
            ask()
        assert "--rows-per-person" in str(refusal.value)
    assert not (tmp_path / "t.ledger").exists()
    found = source.rows_per_person(epsilon=50, entropy=EntropyForTests(1))
    assert found.rows_per_person == 2
    declared = source_of(tmp_path, FRAME, rows_per_person=found.rows_per_person, delta="0.1")
    assert declared.plan(lw.count(), epsilon=1).to_dict()["rows_per_person"] == 2


def test_T27_the_same_question_is_free_whatever_k_or_share(tmp_path):
    def ask(share="0.95", where=None, **options):
        return source_of(tmp_path, FRAME, **options).rows_per_person(
            epsilon=1, share=share, where=where, entropy=EntropyForTests(3)
        )

    first = ask()
    assert "Charged ε = 1 as entry 2" in str(first)
    for again in (ask(rows_per_person=7), ask("0.5"), ask(columns={"x": lw.number(0, 1)})):
        assert (again.repeated, again.answer, again.entry) == (True, first.answer, 2)
    for other in (ask(where="x > 0"), ask(neighbors="change_one"), ask(version="2"), ask(person="q")):
        assert not other.repeated


def test_it_is_refused_before_anything_is_charged(tmp_path):
    for ask, what in (
        (lambda: source_of(tmp_path, FRAME, person=None).rows_per_person(epsilon=1), "names no person"),
        (lambda: source_of(tmp_path, FRAME).rows_per_person(epsilon=0), "ε"),
        (lambda: source_of(tmp_path, FRAME).rows_per_person(epsilon=1, share=2), "share"),
        (lambda: source_of(tmp_path, FRAME).rows_per_person(epsilon=1, where="y > 1"), "y"),
        (lambda: source_of(tmp_path, FRAME, person="z").rows_per_person(epsilon=1), "z"),
    ):
        with pytest.raises(errors.RequestError, match=what):
            ask()
    assert lw.Ledger.open(tmp_path / "t.ledger").spent == 0


def test_it_is_told_in_every_form_and_recalled(tmp_path):
    source = source_of(tmp_path, FRAME)
    found = source.rows_per_person(epsilon=50, where="x > 0", entropy=EntropyForTests(5))
    told = json.loads(json.dumps(found.to_dict()))
    assert (told["rows_per_person"], told["entry"], told["scale"]) == (2, 2, "0.02")
    assert told["bins"][0] == {"least": 1, "most": 1, "people": {"value": 700, "low": 700, "high": 700}}
    assert (told["bins"][-1]["least"], told["bins"][-1]["most"]) == (10**6 + 1, None)
    assert told["within"] == {"value": 0.999, "low": 0.999, "high": 0.999}
    lines = found.to_csv().splitlines()
    assert lines[:2] == ["least,most,people,people_low,people_high", "1,1,700,700,700"]
    assert lines[-1] == "1000001,,0,0,0"
    text = str(found)
    assert "rows_per_person = 2: 99.9 % (99.9 to 99.9 %) of the people" in text
    assert "5,001 to 10,000        1" in text
    assert "Bins with 0 people or fewer are not shown" in text
    again = recall(source.schema, source.ledger, 2)
    assert isinstance(again, RowsPerPerson)
    assert again.answer == found.answer
    assert again.repeated
    with pytest.raises(errors.InvalidSource, match="has changed"):
        recall(source_of(tmp_path, FRAME, neighbors="change_one").schema, source.ledger, 2)


def test_the_tally_hides_what_it_holds():
    assert repr(RowsTally({0: 31337})) == "RowsTally(hidden)"
    with pytest.raises(TypeError):
        __import__("pickle").dumps(RowsTally({0: 1}))
