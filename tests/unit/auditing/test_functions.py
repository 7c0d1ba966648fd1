"""An audit of functions: broken claims are found and shown small, true ones pass, and "all pairs" are all."""

import json
import math
import random
import statistics
from datetime import date
from decimal import Decimal
from fractions import Fraction as F
from itertools import combinations_with_replacement, product

import numpy as np
import pandas as pd
import pytest

import lapwing as lw
from lapwing.auditing.functions import audit_function
from lapwing.auditing.tools.distance import distance, read, shown, written
from lapwing.auditing.tools.domain import make_domain
from lapwing.auditing.tools.search import MANY, _tables
from lapwing.errors import InvalidRequest, InvalidSensitivity, RequestError
from lapwing.question.schema import plain


def tables(witness):
    return witness.kind, list(witness.table), list(witness.neighbor)


def clip(value, low, high):
    return min(max(value, low), high)


def added(values):
    """A plain float sum; Python's own has rounded less since 3.12."""
    total = 0
    for value in values:
        total += value
    return total


# Broken claims.


def test_a_mean_claimed_with_the_wrong_n():
    def mean_of_ten(ages):
        return sum(ages) / len(ages)

    found = audit_function(mean_of_ten, [0, 100], 100 / 11, "change_one", rows=10)
    assert tables(found.witness) == ("distance", [0] * 10, [0] * 9 + [100])
    assert (found.witness.distance, found.witness.sensitivity) == (10, F("9.090909090909092"))
    assert (found.witness.answer, found.witness.neighbor_answer) == (0, 10)
    assert audit_function(mean_of_ten, [0, 100], 10, "change_one", rows=10).holds


@pytest.mark.parametrize("neighbors", ["add_remove", "change_one"])
def test_a_histogram_moves_by_2_under_change_one_only(neighbors):
    found = audit_function(lambda wards: [wards.count(ward) for ward in "ab"], ["a", "b"], 1, neighbors)
    assert found.holds == (neighbors == "add_remove")
    assert found.largest.distance == (1 if found.holds else 2)
    assert found.holds or tables(found.witness) == ("distance", ["a"], ["b"])


def test_nan_passes_a_clip():
    found = audit_function(lambda t: float(np.clip(np.array(t, float), 0, 10).sum()), lw.number(0, 10), 10)
    assert tables(found.witness) == ("not finite", [None], [])
    assert math.isnan(found.witness.answer)
    assert found.witness.distance == math.inf
    assert found.largest.distance == 10


def test_a_sum_that_meets_every_cell_of_a_column_holds():
    def total(costs):
        known = [cost for cost in costs if cost is not None and cost == cost]
        return sum(round(clip(cost, 0, 10)) for cost in known)

    found = audit_function(total, lw.number(0, 10), 10)
    assert found.holds
    assert found.complete
    assert found.largest.distance == 10


def test_a_float_sum_near_two_to_the_53_moves_further_than_its_bounds():
    found = audit_function(added, [2.0**53, 2.0**53 + 2], 2, "change_one")
    assert tables(found.witness) == ("distance", [2.0**53, 2.0**53 + 2], [2.0**53 + 2] * 2)
    assert found.witness.distance == 4
    assert audit_function(added, [2**53, 2**53 + 2], 2, "change_one").holds  # whole numbers


def sum_in_float32(costs):
    total = np.float32(0)
    for cost in costs:
        total += np.float32(cost)
    return total


def test_a_float_sum_whose_order_matters():
    found = audit_function(sum_in_float32, [1, 2**24], 2**24 + 1)
    assert tables(found.witness) == ("order", [1, 1, 2**24], [1, 2**24, 1])
    assert found.witness.distance == 2


def test_a_float_sum_whose_rounding_is_below_a_billionth_passes():
    tenths = [0.1, 0.2, 0.3]
    assert added(tenths) != added(tenths[::-1])
    found = audit_function(added, tenths, 0.3)
    assert found.holds
    assert found.largest.distance > F("0.3")


def test_what_is_above_the_claim_by_more_than_a_billionth_is_broken():
    for above, holds in (("1.000000001", True), ("1.0000000011", False)):
        assert audit_function(lambda t, above=F(above): len(t) * above, [0], 1).holds == holds


def test_a_sum_of_negative_and_positive_values_is_claimed_too_large_or_too_small():
    def total(t):
        return sum(clip(x, -5, 3) for x in t)

    assert audit_function(total, [0, -5, 3], 8).largest.distance == 5  # U - L is not needed
    assert tables(audit_function(total, [0, -5, 3], 3).witness) == ("distance", [-5], [])
    assert tables(audit_function(total, [0, -5, 3], 5, "change_one").witness) == ("distance", [-5], [3])


@pytest.mark.parametrize("neighbors", ["add_remove", "change_one"])
def test_a_median_moves_by_the_whole_range(neighbors):
    found = audit_function(lambda t: statistics.median_low(t) if t else 0, range(11), "9.99", neighbors)
    assert sorted(found.witness.table + found.witness.neighbor) in ([0, 10], [10])
    assert audit_function(lambda t: statistics.median_low(t) if t else 0, range(11), 10, neighbors).holds


def test_a_standard_deviation_does_not_shrink_as_1_over_n():
    found = audit_function(statistics.pstdev, [0, 1], "0.1", "change_one", rows=10)
    assert found.largest.distance == pytest.approx(0.3, rel=1e-12)
    assert tables(found.witness) == ("distance", [0] * 10, [0] * 9 + [1])
    assert audit_function(statistics.pstdev, [0, 1], lw.sensitivity.std(0, 1, 10, neighbors="change_one"),
                          "change_one", rows=10).holds  # fmt: skip


def test_an_error_for_one_neighbor_is_a_violation():
    found = audit_function(lambda t: t.index("b"), ["b", "a"], 4, "change_one")
    assert tables(found.witness) == ("error", ["b"], ["a"])
    assert found.witness.distance == math.inf
    assert repr(found.witness.neighbor_answer).startswith("raises ValueError: ")


def test_errors_of_two_types_are_two_answers():
    def f(t):
        if len(t) < 2:
            raise KeyError(0) if t else IndexError(0)
        return 0

    assert tables(audit_function(f, [0], 1).witness) == ("error", [0], [])
    assert tables(audit_function(f, [0], 1, rows=[2, 3]).witness) == ("error", [0, 0], [0])


def test_an_error_for_all_tables_of_a_size_is_noted():
    def f(t):
        return 1 // (len(t) - 1)

    found = audit_function(f, [0, 1], 1, "change_one")
    assert found.holds
    assert "Note: f raised ZeroDivisionError for some tables." in str(found)


@pytest.mark.parametrize(
    ("f", "kind"),
    [
        (lambda t: [0] * len(t), "form"),
        (lambda t: dict.fromkeys(sorted(set(t)), 1), "form"),
        (lambda t: np.zeros((1, 2)) if t else np.zeros((2, 1)), "form"),
        (lambda t: {"a": 0, "b": 0} if t else {"b": 0, "a": 0}, "form"),
        (lambda t: 0 if t else None, "no number"),
        (lambda t: 0 if t else "0", "no number"),
        (lambda t: 0 if t else False, "no number"),
        (lambda t: 0 if t else 0j, "no number"),
        (lambda t: [0, math.inf if t else 0], "not finite"),
        (lambda t: np.float64("nan") if t else 0, "not finite"),
        (lambda t: Decimal("nan") if t else 0, "not finite"),
        (lambda t: 0 if t else 1 // 0, "error"),
    ],
)
def test_answers_that_cannot_be_compared_are_infinitely_far(f, kind):
    found = audit_function(f, [0, 1], 1)
    assert (found.witness.kind, found.witness.distance, len(found.witness.table)) == (kind, math.inf, 1)


def test_the_first_row_is_no_answer():
    found = audit_function(lambda t: t[0] if t else 0, [0, 1], 1)
    assert tables(found.witness) == ("order", [0, 1], [1, 0])


def test_noise_is_no_function():
    noise = random.Random(1)
    found = audit_function(lambda t: len(t) + noise.random(), [0, 1], 10)
    assert tables(found.witness) == ("repeat", [0], [0])
    assert "lw.audit_mechanism" in str(found)


# What was searched.


@pytest.mark.parametrize("neighbors", ["add_remove", "change_one"])
def test_all_pairs_are_those_of_a_plain_enumeration(neighbors):
    pairs = set()
    for n in (1, 2, 3):
        for rows in product(range(4), repeat=n):
            for at, new in product(range(n), range(4)):
                rest = rows[:at] + rows[at + 1 :]
                other = rest if neighbors == "add_remove" else (*rest, new)
                pairs.add(frozenset([tuple(sorted(rows)), tuple(sorted(other))]))
    pairs = {pair for pair in pairs if len(pair) == 2}
    found = audit_function(len, range(4), 1, neighbors, rows=[3, 1, 2])
    assert found.complete
    assert found.pairs == len(pairs)
    assert [size.rows for size in found.searched] == [1, 2, 3]


@pytest.mark.parametrize("neighbors", ["add_remove", "change_one"])
def test_every_single_pair_is_compared(neighbors):
    """A function that misbehaves on one table only is caught, whichever table it is."""
    for n in (1, 2, 3):
        for bad in combinations_with_replacement(range(3), n):
            found = audit_function(lambda t, bad=bad: 5 * (sorted(t) == list(bad)), range(3), 1, neighbors, rows=n)
            assert bad in (found.witness.table, found.witness.neighbor)


def test_the_largest_is_that_of_all_pairs_and_the_witness_the_smallest():
    def f(t):
        return sum(x * x for x in t)

    found = audit_function(f, range(10), 30, rows=range(5))
    assert (found.largest.distance, found.largest.table, found.largest.neighbor) == (81, (9,), ())
    assert tables(found.witness) == ("distance", [6], [])


def test_a_large_search_finds_three_rows_that_meet_and_shrinks_to_them():
    def f(t):
        return 10 + len(t) if {3, 77, 150} <= set(t) else len(t)

    found = audit_function(f, range(200), 1, rows=range(1, 31))
    assert tables(found.witness) in [
        ("distance", [3, 77, 150], sorted({3, 77, 150} - {gone})) for gone in (3, 77, 150)
    ]  # fmt: skip
    assert not found.complete
    assert found.calls < 110_000


def test_climbing_finds_what_random_tables_would_not():
    def f(t):  # one row at the end of the range moves it by 1000, but only if all others are at the other end
        return max(t) - min(t) if t else 0

    found = audit_function(f, range(1001), 990, "change_one", rows=40, tries=20_000)
    assert found.witness.distance > 990
    assert len(set(found.witness.neighbor)) == 1 or len(set(found.witness.table)) == 1


def test_a_search_is_the_same_each_time():
    def f(t):
        return sum(t) % 7

    one, two = (audit_function(f, range(1000), 6, rows=5, tries=3000) for _ in range(2))
    assert str(one) == str(two)
    assert not one.complete


def test_a_large_search_says_that_it_is_no_proof():
    found = audit_function(len, range(1000), 1, rows=[2, 5], tries=3000)
    assert found.holds
    assert "this is not a proof" in str(found)
    assert "pairs of tables of 2 and 5 rows, with" in str(found)
    assert [size.all for size in found.searched] == [False, False]
    assert all(0 < size.pairs < size.of for size in found.searched)


def test_long_tables_are_searched_and_shrunk_too():
    def f(t):
        return len(t) + 5 * (sum(x > 900 for x in t) % 50 == 7)

    found = audit_function(f, range(1000), 1, "change_one", rows=500, tries=2000)
    assert sorted(x for x in found.witness.table if x > 900) in ([901] * 6, [901] * 7, [901] * 8)
    assert sum(x == 0 for x in found.witness.table) >= 500 - 8
    assert found.searched[0].of is None
    assert "of more than 10^18 pairs" in str(found)
    assert found.to_dict()["searched"][0]["of"] is None


@pytest.mark.parametrize(("m", "n"), [(1, 5), (2, 9), (7, 3), (3, 7), (200, 5), (10**6, 3), (10**12, 1), (5, 0)])
def test_tables_are_counted(m, n):
    assert _tables(m, n) == math.comb(m + n - 1, n)


def test_many_tables_are_counted_as_many():
    assert _tables(10**12, 10**6) >= MANY


# Domains.


def test_rows_may_be_anything_and_cannot_be_changed():
    visits = [[1, 2], [3]]

    def visits_in_all(people):
        for person in people:
            person.append(7)
        people.append([])
        return sum(map(len, people))

    found = audit_function(visits_in_all, visits, 3)
    assert found.holds
    assert found.largest.distance == 3
    assert visits == [[1, 2], [3]]


def test_columns_by_name_make_dicts():
    def count(people):
        return {ward: sum(1 for p in people if p["ward"] == ward) for ward in ("a", "b")}

    found = audit_function(count, {"ward": lw.keys("a", "b"), "age": [30, 40]}, 1, rows=range(3))
    assert found.complete
    assert found.largest.table == ({"ward": "a", "age": 30},)
    found = audit_function(lambda t: sum(p["age"] == 40 and p["ward"] is None for p in t) * 2,
                           {"ward": lw.keys("a", "b"), "age": [30, 40]}, 1)  # fmt: skip
    assert found.witness.table == ({"ward": None, "age": 40},)


@pytest.mark.parametrize(
    ("column", "some"),
    [
        (lw.number(0, 10), [0.0, 10.0, 5.0, None, "nan", "inf", "-inf", 11.0, -1.0, 1e308, -1e308]),
        (lw.number(-3, 4, integer=True), [-3, 4, 0, None, "nan", 5, -4]),
        (lw.number(edges=[0, 18, 65]), [0.0, 18.0, 65.0]),
        (lw.keys("a", "unlisted"), ["a", "unlisted", "unlisted.", None, "", "nan"]),
        (lw.keys(1, 2), [1, 2, 3, None]),
        (lw.keys(True, False), [True, False, None]),
        (lw.keys(date(2020, 1, 1)), [date(2020, 1, 1), date(2020, 1, 2), None]),
    ],
)
def test_a_column_stands_for_its_bounds_and_what_real_columns_hold(column, some):
    rows = make_domain(column)
    cells = [rows.row(i) for i in range(len(rows))]
    texts = [str(cell) if isinstance(cell, float) and not math.isfinite(cell) else cell for cell in cells]
    assert [cell for cell in some if cell not in texts] == []
    assert len({(type(cell), str(cell)) for cell in cells}) == len(cells)


def test_a_product_of_columns_numbers_every_row_once():
    rows = make_domain({"a": range(3), "b": ["x", "y"]})
    assert [rows.row(i) for i in range(len(rows))] == [{"a": a, "b": b} for a in range(3) for b in "xy"]
    assert sorted(rows.earlier(5)) == [1, 3, 4]  # (0, y), (1, y), (2, x)


def test_a_long_range_is_not_walked():
    found = audit_function(lambda t: sum(x > 10**9 for x in t), range(10**12), 1, rows=2, tries=2000)
    assert found.holds
    found = audit_function(lambda t: sum(x > 10**9 for x in t), range(10**12), "0.5", rows=2, tries=2000)
    assert tables(found.witness) == ("distance", [0, 10**9 + 1], [0])


# Answers.


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        (1, 3, 2),
        (0.1, 0, F(0.1)),
        (F(1, 3), Decimal("0.5"), F(1, 6)),
        ([1, 2], (3, 0), 4),
        (np.array([1, 2]), [1, 2], 0),
        (np.array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 7]]), 3),
        ({"a": [1, 2], "b": 3}, {"a": [1, 5], "b": 4}, 4),
        (np.float32(0.1), 0, F(float(np.float32(0.1)))),
        (np.uint8(3), np.int64(5), 2),
        (2**70, 0.0, 2**70),
        (math.nan, math.nan, 0),
        ([math.nan, 1], [math.nan, 2], 1),
        (math.inf, -math.inf, math.inf),
        ([1], 1, math.inf),
        ([[1], [2, 3]], [[1, 2], [3]], math.inf),
        ({"1": 1}, {1: 1}, math.inf),
        ([], [], 0),
    ],
)
def test_distances_are_exact(one, other, apart):
    assert distance(read(one), read(other)) == distance(read(other), read(one)) == apart


def test_an_index_is_part_of_the_answer():
    found = audit_function(lambda t: pd.Series(t, dtype=object).value_counts(), ["a", "b"], 1, rows=1)
    assert found.witness.kind == "form"


def test_two_types_of_number_are_noted():
    found = audit_function(sum, [0.5], 1)
    assert found.holds
    assert "f returns sometimes float and sometimes int" in str(found)
    assert audit_function(lambda t: [len(t), 0.5], [1], 1).notes == ()


def test_numbers_are_written_short():
    assert [written(x) for x in (F(1, 3), 2, F(0.1), math.inf)] == ["1/3", "2", "0.1", "infinity"]
    assert written(F(2) ** 2000) == "more than 2^2000"


def test_long_tables_are_shown_short():
    assert shown([0] * 50 + [1, 2]) == "[0] * 50 + [1, 2]"
    assert len(shown(list(range(1000)))) <= 80


def test_warnings_of_the_function_are_kept_quiet():
    found = audit_function(lambda t: float(np.log(np.array(t))[0]), [1, 0], 1, "change_one", rows=1)
    assert found.witness.kind == "not finite"  # not an error


# Reports.


def test_the_report_of_a_violation():
    found = audit_function(lambda t: [t.count(key) for key in "ab"], ["a", "b"], 1, "change_one")
    assert str(found) == (
        "Violated: sensitivity 1 under change_one.\n"
        "One row moves the answer too far:\n"
        "  f(['a']) = [1, 0]\n"
        "  f(['b']) = [0, 1]\n"
        "  distance 2\n"
        "Searched: all 10 pairs of tables of 1 to 4 rows, with 35 calls of f."
    )
    assert repr(found) == "<FunctionAudit: sensitivity 1, change_one: violated, distance; all 10 pairs>"


def test_the_report_of_a_claim_that_holds():
    found = audit_function(len, [0, 1], 2)
    assert str(found) == (
        "No violation found: sensitivity 2 under add_remove.\n"
        "Largest finite distance seen: 1\n"
        "  f([0]) = 1\n"
        "  f([]) = 0\n"
        "Searched: all 20 pairs of tables of 1 to 4 rows, with 36 calls of f."
    )
    assert repr(found) == "<FunctionAudit: sensitivity 2, add_remove: holds; all 20 pairs>"


def test_the_result_as_json():
    found = audit_function(lambda t: np.array([math.nan if None in t else F(1, 3)]), [date(2020, 1, 1), None], 1)
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["witness"] == {
        "kind": "not finite", "sensitivity": "1", "table": [None], "neighbor": [], "answer": ["nan"],
        "neighbor_answer": ["1/3"], "distance": "infinity",
    }  # fmt: skip
    assert told["searched"][0] == {"rows": 1, "pairs": 2, "of": 2}
    assert (told["holds"], told["complete"], told["neighbors"]) == (False, True, "add_remove")
    assert told["largest"]["table"] == ["datetime.date(2020, 1, 1)"]


# Refusals.


@pytest.mark.parametrize("claim", [0, -1, math.nan, math.inf, "many", None, True])
def test_a_claim_is_a_positive_number(claim):
    with pytest.raises(InvalidSensitivity):
        audit_function(len, [0], claim)


@pytest.mark.parametrize(
    "asked",
    [
        {"f": 3},
        {"domain": []},
        {"domain": "abc"},
        {"domain": {}},
        {"domain": 5},
        {"domain": {1, 2}},
        {"domain": plain("date")},
        {"domain": [1], "neighbors": "change_one"},
        {"neighbors": "swap"},
        {"neighbors": ["add_remove"]},
        {"rows": 0},
        {"rows": []},
        {"rows": -1},
        {"rows": "3x"},
        {"rows": True},
        {"rows": [1, 2.5]},
        {"tries": 0},
        {"tries": None},
    ],
)
def test_what_cannot_be_searched_is_refused(asked):
    with pytest.raises(RequestError):
        audit_function(**{"f": len, "domain": [0, 1], "sensitivity": 1} | asked)


@pytest.mark.parametrize(
    ("f", "told"),
    [
        (lambda t: t["age"], "raised TypeError in 35 of 35 calls (f of the first row alone raises TypeError: list"),
        (lambda t: "a", "returned a str in 35 of 35 calls"),
        (lambda t: math.nan, "returned NaN or an infinite number in 35 of 35 calls"),
    ],
)  # fmt: skip
def test_a_function_that_never_answers_is_refused(f, told):
    with pytest.raises(InvalidRequest) as refused:
        audit_function(f, [0, 1], 1, "change_one")
    assert told in str(refused.value)


def test_an_interrupt_passes():
    def f(t):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit_function(f, [0], 1)


def test_the_witness_of_a_function_with_a_state_shows_answers_that_differ():
    calls = iter(range(10**6))
    found = lw.audit_function(lambda rows: next(calls) // 2, [0, 1], 1)
    assert found.witness.kind == "repeat"
    assert found.witness.distance == abs(found.witness.answer - found.witness.neighbor_answer)
    assert found.largest is None
