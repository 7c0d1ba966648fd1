"""Claims K1 to K3 and the traps of keys that are not public."""

import hashlib
import json
import logging
import math
import pickle
from dataclasses import replace
from datetime import date
from fractions import Fraction as F
from itertools import combinations, product

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing import errors
from lapwing.engine.connect import connect
from lapwing.engine.keys import lower_keys
from lapwing.engine.table import Table
from lapwing.ledger.ledger import Ledger
from lapwing.noise.entropy import EntropyForTests
from lapwing.question.schema import make_schema
from lapwing.release.discover import KeyTally, plan_keys

from ..independent import ERROR, ONE, Thresholds
from ..tables import DAYS, FORMS, KEYS, PERSONS, engine_tally, make, plan_of
from .test_release import CANARY, everything_about

# --- K1: the threshold ---


def survives(table, threshold, keys):
    """Return (1 - (1 - p)^keys)·2^320, p = P(1 + X ≥ T) = P(|X| ≥ T - 1)/2, wrong by less than keys·ERROR."""
    base, power, left = ONE - table.at(threshold - 1) // 2, ONE, keys
    while left:
        power = power * base // ONE if left % 2 else power
        base, left = base * base // ONE, left // 2
    return ONE - power


@given(
    st.fractions(min_value=F(1, 50), max_value=500, max_denominator=1000),
    st.sampled_from(["0.49", "0.01", "1e-5", "1e-8", "3e-12", "1e-18"]),
    st.integers(1, 5000),
)
def test_K1_the_threshold_is_the_smallest_that_hides_a_single_person(scale, delta, keys):
    found, table, level = lw.DiscreteLaplace(scale).threshold(delta, keys), Thresholds(scale), F(delta) * ONE
    assert found >= 2
    at, before = survives(table, found, keys), survives(table, found - 1, keys)
    assert at + keys * ERROR < level
    assert before - keys * ERROR > level


def test_K1_known_thresholds():
    """By hand: with scale 1, P(1 + X ≥ 20) = e^-19/(1 + e^-1) = 4.1·10^-9 and P(1 + X ≥ 19) = 1.1·10^-8."""
    assert lw.DiscreteLaplace(1).threshold("1e-8") == 20
    assert lw.DiscreteLaplace(F(1, 50)).threshold("0.01") == 2
    assert lw.DiscreteLaplace(10**6).threshold("1e-18", 10**6) > 10**6 * math.log(10**18)
    for bad in (0, 1, "0.5", -1, "x", float("nan"), 2):
        with pytest.raises(errors.RequestError):
            lw.DiscreteLaplace(1).threshold(bad)
    with pytest.raises(errors.RequestError):
        lw.DiscreteLaplace(1).threshold("0.1", 0)


@pytest.mark.parametrize("q", [F(1, 10), F(1, 2), F(9, 10)], ids=str)
@pytest.mark.parametrize("most", [1, 2, 3, 4, 5])
def test_K1_however_a_person_spreads_over_keys_they_are_seen_with_probability_delta_at_most(q, most):
    """Exactly, in fractions, with q = e^(-1/s): every way of being alone in some keys and with others in more."""
    delta = F(1, 100)
    threshold = smallest_threshold(q, delta, most)
    worst = F(0)
    for others in product((0, 1, 2), repeat=most):  # how many others have each of the person's keys
        alone = sum(each == 0 for each in others)
        seen = 1 - (1 - tail(q, threshold - 1)) ** alone  # a key nobody else has tells that the person is there
        worst = max(worst, seen)
    assert worst <= delta
    assert worst == 1 - (1 - tail(q, threshold - 1)) ** most


# --- K2: the whole law, for every pair of neighbors in a small universe ---


def tail(q, k):
    """Return P(X ≥ k) for k ≥ 0, P(X = x) = (1 - q)/(1 + q)·q^|x|."""
    return q**k / (1 + q)


def smallest_threshold(q, delta, keys):
    threshold = 1
    while 1 - (1 - tail(q, threshold - 1)) ** keys > delta:
        threshold += 1
    return threshold


def law_of_key(q, exactly, threshold, most):
    """Return the probabilities that a key is hidden, shown with T, T + 1, …, most - 1, and with ``most`` or more.

    From ``most`` ≥ every count on, the likelihood ratio of two counts no longer depends on the value, so that these
    outcomes may be taken together: no divergence changes.
    """
    if exactly == 0:
        return [F(1)] + [F(0)] * (most - threshold + 1)
    shown = [(1 - q) / (1 + q) * q ** abs(value - exactly) for value in range(threshold, most)]
    rest = tail(q, most - exactly)
    return [1 - sum(shown) - rest, *shown, rest]


def divergence(q, one, two, threshold, power):
    """Return Σ max(P(o) - e^ε·Q(o), 0) over all outcomes o, e^ε = q^-power: the least δ for this pair."""
    most = max(threshold, *one, *two)
    laws = [[law_of_key(q, each, threshold, most) for each in side] for side in (one, two)]
    total = F(0)
    for outcome in product(range(most - threshold + 2), repeat=len(one)):
        here = math.prod((law[o] for law, o in zip(laws[0], outcome, strict=True)), start=F(1))
        if here:
            there = math.prod((law[o] for law, o in zip(laws[1], outcome, strict=True)), start=F(1))
            total += max(here - there / q**power, F(0))
    return total


def neighbors(relation, most):
    """Yield the counts of three keys in every two neighbors: others have each key 0, 1 or 2 times."""
    sets = [keys for size in range(most + 1) for keys in combinations(range(3), size)]
    pairs = [((), keys) for keys in sets] if relation == "add_remove" else list(product(sets, sets))
    for others in product((0, 1, 2), repeat=3):
        for gone, come in pairs:
            one = tuple(c + (k in gone) for k, c in enumerate(others))
            two = tuple(c + (k in come) for k, c in enumerate(others))
            changed = tuple((a, b) for a, b in zip(one, two, strict=True) if a != b)
            if changed:  # a key with the same count on both sides has the same law, and multiplies out
                yield tuple(a for a, _ in changed), tuple(b for _, b in changed)


CASES = [("add_remove", 1), ("add_remove", 2), ("change_one", 1), ("change_one", 2)]


def worst_divergence(relation, most, q, threshold):
    power = most * (1 if relation == "add_remove" else 2)
    pairs = {tuple(sorted(zip(*pair, strict=True))) for pair in neighbors(relation, most)}
    both = {way for pair in pairs for way in (pair, tuple((b, a) for a, b in pair))}
    return max(divergence(q, tuple(a for a, _ in pair), tuple(b for _, b in pair), threshold, power) for pair in both)


@pytest.mark.parametrize(("relation", "most"), CASES)
@pytest.mark.parametrize("q", [F(1, 10), F(1, 2), F(4, 5), F(9, 10)], ids=str)
@pytest.mark.parametrize("delta", [F(1, 10), F(1, 4)], ids=str)  # at q = 9/10, above and below 1 - e^(-1/s)
def test_K2_no_pair_of_neighbors_is_told_apart_by_more_than_epsilon_and_delta(relation, most, q, delta):
    assert worst_divergence(relation, most, q, smallest_threshold(q, delta, most)) <= delta


@pytest.mark.parametrize(("relation", "most"), CASES)
def test_K2_T11_a_threshold_lower_by_one_breaks_it(relation, most):
    q, delta = F(1, 2), F(1, 10)
    assert worst_divergence(relation, most, q, smallest_threshold(q, delta, most) - 1) > delta


def test_K2_scale_and_threshold_are_those_of_the_claim():
    for relation, factor in (("add_remove", 1), ("change_one", 2)):
        schema = make_schema("t", {"key": "text"}, "p", 3, relation, None)
        for keys in (None, 1, 7):
            plan = plan_keys(schema, "key", epsilon="0.5", delta="1e-8", keys_per_person=keys)
            assert plan.scale == factor * F(keys or 3) / F(1, 2)
            assert plan.threshold == lw.DiscreteLaplace(plan.scale).threshold("1e-8", keys or 3)


# --- K3: through the engine ---


def counted(rows, form, folder, *, column="key", person=True, most=2, where=None):
    schema = make_schema("t", {"key": "text", "code": "integer", "day": "date", "yes": "boolean", "x": "number"},
                         "person" if person else None, 1 if person else None, "add_remove", None)  # fmt: skip
    plan = plan_keys(schema, column, epsilon=1, delta="1e-8", keys_per_person=most if person else None, where=where)
    return dict(connect(make(rows, form, folder), "t").count_keys(schema, plan.lowered))


def by_hand(rows, most):
    """Count by the rule, in Python: of each person the first keys in the order of a hash; 1, 1.0 and "1" hash alike."""

    def who(person):
        try:
            number = float(person)
        except ValueError:
            return person
        return f"{number // 2**32:.0f} {number % 2**32:.0f}"  # the tests' people are texts or whole numbers

    keys: dict[str, set[str]] = {}
    for row in rows:
        if row["person"] is not None and row["key"] is not None:
            keys.setdefault(row["person"], set()).add(row["key"])
    found: dict[str, int] = {}
    for person, own in keys.items():
        for key in sorted(own, key=lambda key: (hashlib.md5(f"{who(person)} {key}".encode()).hexdigest(), key))[:most]:
            found[key] = found.get(key, 0) + 1
    return found


ROWS = st.lists(st.fixed_dictionaries({"person": st.sampled_from(PERSONS), "key": st.sampled_from(KEYS)}), max_size=25)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@given(rows=ROWS, most=st.integers(1, 4), form=st.sampled_from(["arrow", "parquet", "pandas"]))
@settings(max_examples=60)
@example(rows=[{"person": "p", "key": key} for key in "abcdefgh"] * 3, most=2, form="arrow")
def test_K3_a_person_moves_at_most_l_counts_by_one_each(rows, most, form, folder):
    everyone = counted(rows, form, folder, most=most)
    assert everyone == by_hand(rows, most)
    for person in {row["person"] for row in rows}:
        without = counted([row for row in rows if row["person"] != person], "arrow", folder, most=most)
        moved = [everyone.get(key, 0) - without.get(key, 0) for key in {*everyone, *without}]
        assert set(moved) <= {0, 1}
        assert sum(moved) <= (0 if person is None else most)


@pytest.mark.parametrize("form", FORMS)
def test_K3_every_form_of_table_gives_the_same_counts(form, tmp_path):
    rows = [
        {"person": PERSONS[i % 7], "key": KEYS[i * i % 8], "code": [1, 2, -7, None][i % 4], "day": DAYS[i % 4],
         "yes": [True, False, None][i % 3], "x": float(i)}
        for i in range(60)
    ]  # fmt: skip
    if form in ("csv", "csv.gz", "tsv"):  # an empty cell of a CSV file is missing
        rows = [{**row, "key": row["key"] or None} for row in rows]
    assert counted(rows, form, tmp_path) == by_hand(rows, 2)
    for column in ("code", "day", "yes"):
        expected = by_hand([{"person": i, "key": row[column]} for i, row in enumerate(rows)], 1)
        assert counted(rows, form, tmp_path, column=column, person=False) == expected
    some = counted(rows, form, tmp_path, person=False, where="x >= 30 AND key <> 'a'")
    assert some == by_hand([{**r, "person": i} for i, r in enumerate(rows) if r["x"] >= 30 and r["key"] != "a"], 1)


def test_T8_what_is_no_key_is_missing_by_a_public_rule(tmp_path):
    odd = [None, "", "y" * 200, "y" * 201, "a\0b", "a\nb", "a\x85b", "a\u2028b", "नमस्ते", "a\u200db"]
    rows = [{"key": key} for key in odd]
    assert set(counted(rows, "arrow", tmp_path, person=False)) == {"", "y" * 200, "नमस्ते", "a\u200db"}
    frame = pd.DataFrame({"key": [1.0, 1.5, 2.0**53, 2.0**53 + 2, -0.0, float("nan"), float("inf"), 1e300]})
    schema = make_schema("t", {"key": "integer"}, None, None, "add_remove", None)
    table = connect(frame, "t")
    assert dict(table.count_keys(schema, lower_keys(schema, "key", None, 1))) == {1: 1, 2**53: 1, 0: 1}
    texts = connect(
        pd.DataFrame({"key": ["2024-02-30", "2024-02-29", "infinity", "0044-03-15 (BC)", "10000-01-01"]}), "t"
    )
    schema = make_schema("t", {"key": "date"}, None, None, "add_remove", None)
    assert dict(texts.count_keys(schema, lower_keys(schema, "key", None, 1))) == {date(2024, 2, 29): 1}


# --- the whole way ---


def source_of(folder, table=None, **options):
    frame = pd.DataFrame({"p": [*range(400), 0, 1], "key": ["b"] * 200 + ["a"] * 200 + ["c", "d"], "x": range(402)})
    given = {"name": "t", "columns": {"key": "text", "x": lw.number(0, 500)}, "person": "p", "rows_per_person": 2}
    given |= {"epsilon": 5, "delta": "1e-6", "ledger": folder / "t.ledger", **options}
    return lw.Source(frame if table is None else table, **given)


def test_K2_what_is_recorded_is_count_plus_noise_where_it_reaches_the_threshold(tmp_path):
    source = source_of(tmp_path)
    found = source.discover("key", epsilon=1, delta="1e-8", entropy=EntropyForTests(4))
    noise = lw.discrete_laplace(2, 4, entropy=EntropyForTests(4)).tolist()
    assert found.answer == {"keys": ["a", "b"], "counts": [200 + noise[0], 200 + noise[1]], "private": False}
    assert "NOT PRIVATE" in str(found)
    assert found.to_dict()["private"] is False
    recorded = (tmp_path / "t.ledger").read_bytes()
    assert b'["a","b"]' in recorded
    assert b'"c"' not in recorded


def test_K2_T11_a_key_is_shown_from_the_threshold_on_and_not_one_below():
    """With noise that can be drawn again, counts that come to T and to T - 1 exactly."""
    schema = make_schema("t", {"key": "integer"}, None, None, "add_remove", None)
    plan = plan_keys(schema, "key", epsilon="0.1", delta="1e-8")
    noise = lw.discrete_laplace(10, 50, entropy=EntropyForTests(8)).tolist()
    for off, shown in ((0, 50), (-1, 0), (1, 50)):
        tally = KeyTally([(key, plan.threshold + off - each) for key, each in enumerate(noise)])
        answer = tally.shown(plan, EntropyForTests(8))
        assert (len(answer["keys"]), set(answer["counts"])) == (shown, {plan.threshold + off} if shown else set())


def test_K2_a_key_is_shown_as_often_as_its_law_says(tmp_path):
    """One key of one person: shown with probability p, here about 1 in 4; and a key at the threshold, in about half."""
    schema = make_schema("t", {"key": "integer"}, None, None, "add_remove", None)
    plan = plan_keys(schema, "key", epsilon="0.001", delta="0.01")
    tally = KeyTally([(key, plan.threshold) for key in range(10_000)])
    seen = len(tally.shown(plan, EntropyForTests(1))["keys"])
    assert abs(seen / 10_000 - 0.5) < 0.03
    assert len(KeyTally([(key, 1) for key in range(10_000)]).shown(plan, EntropyForTests(1))["keys"]) < 200


def test_R2_charge_count_record_show_in_this_order(tmp_path, monkeypatch):
    steps = []
    for owner, name in ((Ledger, "charge"), (Table, "count_keys"), (Ledger, "record")):
        whole = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *a, _n=name, _w=whole, **k: (steps.append(_n), _w(*a, **k))[1])
    source = source_of(tmp_path)
    source.discover("key", epsilon=1, delta="1e-8")
    assert steps == ["charge", "count_keys", "record"]
    assert (source.ledger.spent, source.ledger.delta.spent) == (1, F(1, 10**8))


def test_T27_a_repeated_question_is_free_also_when_its_keys_are_declared(tmp_path):
    source = source_of(tmp_path)
    first = source.discover("key", epsilon=1, delta="1e-8", where="x >= 0")
    again = source.declare(key=first.column(other="rest")).discover("KEY", epsilon="1.0", delta=1e-8, where="0 <= x")
    assert again.repeated
    assert (again.answer, again.entry) == (first.answer, first.entry)
    assert source.ledger.delta.spent == F(1, 10**8)
    for options in ({"delta": "2e-8"}, {"keys_per_person": 1}, {"where": "x > 0"}, {"epsilon": "0.9"}):
        asked = {"epsilon": 1, "delta": "1e-8", "where": "x >= 0", **options}
        assert not source.discover("key", **asked).repeated
    assert not source_of(tmp_path, version="2").discover("key", epsilon="0.1", delta="1e-8").repeated


def test_T27_a_recorded_answer_needs_no_table(tmp_path):
    pd.DataFrame({"p": range(100), "key": ["a"] * 100}).to_csv(tmp_path / "t.csv", index=False)
    source = source_of(tmp_path, table=str(tmp_path / "t.csv"), columns={"key": "text"})
    first = source.discover("key", epsilon=1, delta="1e-8")
    (tmp_path / "t.csv").unlink()
    assert source.discover("key", epsilon=1, delta="1e-8").answer == first.answer


def test_a_key_that_was_found_has_somebody(tmp_path):
    """However wide the bar: its lower end is 1 at least."""
    found = source_of(tmp_path, delta="0.01").discover("key", epsilon=1, delta="0.01").at("0.999999999")
    found = replace(found, answer={"keys": ["a"], "counts": [found.threshold]})
    assert found.rows[0]["count"]["low"] == 1


def test_L1_the_total_delta_is_never_exceeded(tmp_path):
    source = source_of(tmp_path, delta="2.5e-8")
    for number in range(2):
        source.discover("key", epsilon="0.1", delta="1e-8", where=f"x >= {number}")
    with pytest.raises(errors.BudgetExceeded, match=r"δ = 0\.00000001"):
        source.discover("key", epsilon="0.1", delta="1e-8", where="x >= 9")
    assert (source.ledger.spent, source.ledger.delta.remaining) == (F(1, 5), F(5, 10**9))


def test_without_delta_it_is_refused_with_advice(tmp_path):
    source = source_of(tmp_path, delta=None)
    with pytest.raises(errors.InvalidSource, match=r"total 5 --delta 0\.00000001") as caught:
        source.discover("key", epsilon=1, delta="1e-8")
    assert "has no total δ" in str(caught.value)
    assert source.ledger.spent == 0
    source.ledger.set_total(5, "1e-8")
    assert source.discover("key", epsilon=1, delta="1e-8").keys == ("a", "b")
    with pytest.raises(errors.InvalidSource, match=r"says delta = 0\.1, but its ledger has the total δ = 0\.00000001"):
        _ = source_of(tmp_path, delta="0.1").ledger


def test_T16_T17_what_cannot_be_looked_for_is_refused_and_costs_nothing(tmp_path):
    source = source_of(tmp_path)
    for options in (
        {"column": "x"},
        {"column": "nothing"},
        {"epsilon": 0},
        {"delta": 0},
        {"delta": "0.02"},
        {"delta": -1},
        {"delta": float("nan")},
        {"delta": "1e-19"},
        {"keys_per_person": 0},
        {"keys_per_person": "many"},
        {"keys_per_person": 10**7},
        {"where": "x ** 2 > 1"},
        {"confidence": 2},
        {"analyst": "nobody"},
        {"epsilon": "1e-9", "keys_per_person": 10**6, "neighbors": "change_one"},
    ):
        asked = {"column": "key", "epsilon": 1, "delta": "1e-8", **options}
        made = source_of(tmp_path, neighbors=asked.pop("neighbors", "add_remove"))
        with pytest.raises(errors.RequestError):
            made.discover(**asked)
    with pytest.raises(errors.RequestError, match="name the person column"):
        source_of(tmp_path, person=None, rows_per_person=None).discover(
            "key", epsilon=1, delta="1e-8", keys_per_person=2
        )
    with pytest.raises(errors.InvalidSource, match="does not have"):
        source.declare(gone="text").discover("gone", epsilon=1, delta="1e-8")
    assert (source.ledger.spent, source.ledger.delta.spent) == (0, 0)


def test_T10_T19_keys_come_in_their_own_order_whatever_the_rows(tmp_path):
    rows = [("z", i) for i in range(300)] + [("a", i) for i in range(500)] + [("m", i) for i in range(400)]
    for number, order in enumerate((rows, rows[::-1], sorted(rows, key=lambda r: r[1]))):
        frame = pd.DataFrame(order, columns=["key", "p"])
        source = source_of(tmp_path, table=frame, version=str(number), columns={"key": "text"}, rows_per_person=3)
        found = source.discover("key", epsilon=1, delta="1e-8", entropy=EntropyForTests(1))
        assert found.keys == ("a", "m", "z")
        assert found.counts == pytest.approx((500, 400, 300), abs=60)
    days = pd.DataFrame({"key": [date(2024, 5, 1)] * 90 + [date(2023, 5, 1)] * 90, "p": range(180)})
    found = source_of(tmp_path, table=days, columns={"key": "date"}, version="d").discover(
        "key", epsilon=1, delta="1e-8"
    )
    assert found.keys == (date(2023, 5, 1), date(2024, 5, 1))


def test_T10_rare_keys_leave_no_trace(tmp_path):
    """With and without fifty keys of one person each, everything shown has the same form."""
    common = pd.DataFrame({"key": ["a"] * 300, "p": range(300)})
    rare = pd.DataFrame({"key": [f"r{i}" for i in range(50)], "p": range(1000, 1050)})
    told = []
    for number, frame in enumerate((common, pd.concat([rare, common]))):
        source = source_of(tmp_path, table=frame, columns={"key": "text"}, version=str(number))
        found = source.discover("key", epsilon=1, delta="1e-12")
        own = {"entry": 0, "recorded_at": "", "remaining": 0, "remaining_delta": 0}  # of this call, whatever it found
        told.append({**found.to_dict(), "rows": len(found.rows), **own})
    assert told[0] == told[1]
    assert told[0]["rows"] == 1


def test_nothing_found_is_said_and_cannot_be_declared(tmp_path):
    for frame in (pd.DataFrame({"key": ["a", "b"], "p": [1, 2]}), pd.DataFrame({"key": [], "p": []})):
        found = source_of(tmp_path, table=frame, columns={"key": "text"}).discover("key", epsilon="0.1", delta="1e-12")
        assert found.keys == ()
        assert "No key reached the threshold" in str(found)
        for ask in (found.column, found.to_toml):
            with pytest.raises(errors.CannotDeclare, match="What was charged stays charged"):
                ask()
        assert found.to_csv() == "key,count,count_low,count_high\n"


def test_what_was_found_is_told_in_every_form(tmp_path):
    source = source_of(tmp_path)
    found = source.discover("key", epsilon=1, delta="1e-8")
    assert (found.epsilon, found.delta, found.threshold) == (1, F(1, 10**8), found.plan.threshold)
    margin = lw.DiscreteLaplace(2).margin(0.95)
    told = found.to_dict()
    assert told["rows"] == [
        {"key": key, "count": {"value": value, "low": value - margin, "high": value + margin}}
        for key, value in zip(found.keys, found.counts, strict=True)
    ]
    assert (told["delta"], told["threshold"], told["remaining_delta"]) == ("0.00000001", found.threshold, "0.00000099")
    assert found.to_pandas()["count"].tolist() == list(found.counts)
    assert (
        found.to_csv().splitlines()[1] == f"a,{found.counts[0]},{found.counts[0] - margin},{found.counts[0] + margin}"
    )
    wide = found.at("0.999")
    assert wide.rows[0]["count"]["high"] > told["rows"][0]["count"]["high"]
    text = str(found)
    assert "Charged ε = 1, δ = 0.00000001 as entry 2.  Left: ε = 4, δ = 0.00000099" in text
    assert "who counts for at most 2 keys" in text
    assert f"fewer than about {found.threshold} people are not shown" in text
    assert repr(found) == "Discovery('key', entry=2, 2 keys)"


def test_what_was_found_can_be_declared_in_python_and_in_a_file(tmp_path):
    source = source_of(tmp_path)
    found = source.discover("key", epsilon=1, delta="1e-8")
    answer = source.declare(key=found.column(other="rest")).release(lw.count(), by="key", epsilon=1)
    assert [row["key"] for row in answer.rows] == ["a", "b", "rest"]
    assert source.schema.columns["key"].keys is None
    for name in ("a", ""):
        with pytest.raises(errors.CannotDeclare, match="the same question again is free"):
            found.column(other=name)
    pd.DataFrame({"p": [1], "key": ["a"]}).to_csv(tmp_path / "f.csv", index=False)
    head = 'name = "f"\ntable = "f.csv"\nepsilon = 1\ndelta = 1e-6\n'
    (tmp_path / "f.toml").write_text(head + found.to_toml("rest"))
    opened = lw.Source.open(tmp_path / "f.toml")
    assert opened.schema.columns["key"] == found.column("rest")
    assert opened.make_ledger().delta.total == F(1, 10**6)


@pytest.mark.parametrize(
    ("kind", "values"),
    [("integer", [3, -1]), ("boolean", [True, False]), ("date", [date(2024, 1, 31), date(1999, 1, 1)]),
     ("text", ['say "hi"', "back\\slash", "é\x7f"[:1]])],
)  # fmt: skip
def test_every_type_of_key_can_be_written_as_toml(kind, values, tmp_path):
    frame = pd.DataFrame({"odd name": [value for value in values for _ in range(100)]})
    source = source_of(tmp_path, table=frame, columns={"odd name": kind}, person=None, rows_per_person=None)
    found = source.discover("odd name", epsilon=1, delta="1e-8")
    assert found.keys == tuple(sorted(values))
    again = source.discover("odd name", epsilon=1, delta="1e-8")
    assert again.repeated
    assert again.keys == found.keys
    frame.to_csv(tmp_path / "f.csv", index=False)
    (tmp_path / "f.toml").write_text('table = "f.csv"\nepsilon = 1\n' + found.to_toml())
    assert lw.Source.open(tmp_path / "f.toml").schema.columns["odd name"] == found.column()
    json.dumps(found.to_dict())


def test_T24_a_tally_of_keys_hides_them_and_is_not_pickled():
    tally = KeyTally([(CANARY, 123456789)])
    assert "CANARY" not in f"{tally!r} {tally}"
    with pytest.raises(TypeError):
        pickle.dumps(tally)


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
def test_T24_a_rare_key_appears_nowhere_also_when_the_engine_fails(form, tmp_path, caplog, capfd, monkeypatch):
    caplog.set_level(logging.DEBUG)
    frame = pd.DataFrame({"key": ["a"] * 100 + [CANARY], "p": [f"p{i}" for i in range(101)]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    table = frame if form == "frame" else str(tmp_path / f"t.{form}")
    source = source_of(tmp_path, table=table, columns={"key": "text"})
    found = source.discover("key", epsilon=1, delta="1e-12")
    seen = [str(found), repr(found), json.dumps(found.to_dict()), found.to_csv(), found.to_toml(), repr(found.plan)]

    def failing(session, sql, fetch):
        raise ValueError(CANARY)

    with monkeypatch.context() as patch:
        patch.setattr("lapwing.engine.duckdb._Session._run", failing)
        with pytest.raises(errors.EngineError) as caught:
            source.discover("key", epsilon=2, delta="1e-12")
    seen += [everything_about(caught.value), caplog.text, *capfd.readouterr()]
    before = source.ledger.delta.spent
    completed = source.discover("key", epsilon=2, delta="1e-12")
    assert completed.repeated
    assert "which was charged before: nothing more was charged" in str(completed)
    assert source.ledger.delta.spent == before
    assert not any(CANARY in text for text in seen)
    assert CANARY.encode() not in (tmp_path / "t.ledger").read_bytes()


def test_a_recorded_answer_that_does_not_fit_is_refused(tmp_path):
    source = source_of(tmp_path)
    plan = source.plan_keys("key", epsilon=1, delta="1e-8")
    ledger = source.make_ledger()
    ledger.record(ledger.charge(plan.question(), 1, "1e-8"), {"keys": ["a"], "counts": []})
    with pytest.raises(errors.LedgerError, match="does not fit"):
        source.discover("key", epsilon=1, delta="1e-8")


# --- what others have changes nothing for a person ---


@pytest.mark.parametrize("extra", [[], ["text"], ["text", None], ["text", 0.5], [2**63], [2**70]])
def test_K3_the_type_that_others_make_the_column_have_does_not_matter(extra):
    """One more row makes pandas hold whole numbers as objects; the keys of the others stay."""
    people, keys = [*range(300)] * 2, ["a"] * 300 + ["b"] * 300
    frame = pd.DataFrame({"person": pd.Series([*people, *extra]), "key": [*keys, *["a" for _ in extra]]})
    schema = make_schema("t", {"key": "text"}, "person", 1, "add_remove", None)
    plan = plan_keys(schema, "key", epsilon=1, delta="1e-8")
    counts = dict(connect(frame, "t").count_keys(schema, plan.lowered))
    alone = pd.DataFrame({"person": people, "key": keys})
    before = dict(connect(alone, "t").count_keys(schema, plan.lowered))
    assert counts["b"] == before["b"]
    assert counts["a"] - before["a"] in (0, 1)


@pytest.mark.parametrize("extra", [[], [None], ["flu"], [True], [1.5]])
def test_K3_a_number_declared_as_text_is_one_text_whatever_the_others_are(extra):
    frame = pd.DataFrame({"key": pd.Series([5, 6] * 40 + extra)})
    schema = make_schema("t", {"key": "text"}, None, None, "add_remove", None)
    plan = plan_keys(schema, "key", epsilon=1, delta="1e-8")
    counts = dict(connect(frame, "t").count_keys(schema, plan.lowered))
    assert {key: counts[key] for key in ("5", "6")} == {"5": 40, "6": 40}
    assert len(counts) <= 3
    by_key = make_schema("t", {"key": lw.keys("5", "6")}, None, None, "add_remove", None)
    assert engine_tally(by_key, plan_of(by_key, [lw.count()], "key"), frame) == {0: [(40,)], 1: [(40,)]}


def test_T24_what_fails_while_noise_is_added_says_nothing_about_the_data(tmp_path, monkeypatch):
    """NumPy tells the shape of an array that does not fit into memory."""
    from lapwing.measure import selection
    from lapwing.release import discover as module

    def fails(*_, **__):
        raise MemoryError("an array with shape (123456,)")

    source = lw.Source(
        pd.DataFrame({"key": ["a"] * 50, "x": [1.0] * 50}), name="t", columns={"key": "text", "x": lw.number(0, 9)},
        epsilon=9, delta="1e-6", ledger=tmp_path / "t.ledger",
    )  # fmt: skip
    monkeypatch.setattr(selection, "race", fails)
    monkeypatch.setattr(module, "discrete_laplace", fails)
    for ask in (
        lambda: source.release(lw.median("x"), epsilon=1),
        lambda: source.discover("key", epsilon=1, delta="1e-8"),
    ):
        with pytest.raises(errors.EngineError) as caught:
            ask()
        assert "123456" not in f"{caught.value!r} {caught.value} {caught.value.__cause__} {caught.value.__context__}"
