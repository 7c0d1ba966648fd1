"""How numbers are read and written, how far one person moves an answer, and how integers are recorded."""

from __future__ import annotations

import zlib
from base64 import b64encode
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np

from ... import exact, sensitivity
from ...measure import cells
from ..tools.meaning import Cases, Denied, F

_HUGE, _TINY = F(2) ** 900, F(1, 2**900)
_WIDE, _SMALL = F(2) ** 1000, F(1, 2**1000)
_NEAR = F(1, 10**300)
_NONE: Any = None


def numbers() -> dict[str, Cases]:
    """Return numbers as users write them, and as they are shown."""
    return {
        "rational": _rationals(),
        "ε and δ": _budgets(),
        "sensitivity and scale": _scales(),
        "bounds": _bounds(),
        "probability": _probabilities(),
        "whole": _whole(),
        "sign": _signs(),
        "text": _texts(),
        "decimal": _decimals(),
    }


def _rationals() -> Cases:
    right: list[tuple[Any, F]] = [
        (0, F(0)), (-7, F(-7)), (10**30, F(10**30)), (0.1, F(1, 10)), (1e300, F(10**300)), (-2.5e-7, F(-1, 4_000_000)),
        ("0.1", F(1, 10)), (" 0.1 ", F(1, 10)), ("+5", F(5)), ("-.5", F(-1, 2)), ("5.", F(5)), ("1e3", F(1000)),
        ("1E-3", F(1, 1000)), ("1.5e+2", F(150)), ("1/3", F(1, 3)), ("-2/4", F(-1, 2)), ("007", F(7)), ("0/5", F(0)),
        (F(2, 6), F(1, 3)), (Decimal("0.50"), F(1, 2)), (np.int8(-3), F(-3)), (np.uint64(2**64 - 1), F(2**64 - 1)),
        (np.float64(0.1), F(1, 10)), (np.float32(0.1), F(1, 10)), (np.float16(0.1), F(1, 10)),
        ("1/10", F(1, 10)), ("1/100", F(1, 100)), ("9" * 400, F(10**400 - 1)), ("1e999", F(10**999)),
    ]  # fmt: skip
    wrong: tuple[Any, ...] = (
        None, True, False, np.True_, "", " ", "x", "1 2", "1,5", "1_000", "1/0", "1/00", "1/-3", "1/3/5", "0x10", "1e",
        "1e1000", "nan", "inf", "-inf", float("nan"), float("inf"), float("-inf"), Decimal("NaN"), Decimal("Infinity"),
        "9" * 401, "½", "٣", b"1", [1], (1,), {}, 1j, np.timedelta64(1, "D"), np.datetime64("2020-01-01"), object(),
        np.array([1.0]),
    )  # fmt: skip
    return [
        *[(lambda each=each: exact.rational(each), meant) for each, meant in right],
        *[(lambda each=each: exact.finite(each, "x"), meant) for each, meant in right],
        *[(lambda each=each: _refused(each), "not a number") for each in wrong],
        *[(lambda each=each: exact.finite(each, "x"), Denied("x is one finite number")) for each in wrong],
    ]


def _refused(asked: object) -> Any:
    try:
        return exact.rational(asked)
    except ValueError:
        return "not a number"


def _budgets() -> Cases:
    epsilon, delta = Denied("ε is a decimal with at most nine places"), Denied("δ is a decimal with at most eighteen")
    return [
        (lambda: exact.epsilon(1), F(1)),
        (lambda: exact.epsilon("0.1"), F(1, 10)),
        (lambda: exact.epsilon("1e-9"), F(1, 10**9)),
        (lambda: exact.epsilon(1000), F(1000)),
        (lambda: exact.epsilon("1/8"), F(1, 8)),
        (lambda: exact.epsilon(0.1 + 0.2), F(3, 10)),
        (lambda: exact.epsilon(0.3 - 1e-12), F(299_999_999, 10**9)),
        (lambda: exact.epsilon(0.1 * 3 - 2e-9), F(299_999_998, 10**9)),
        (lambda: exact.epsilon(np.float32(0.1)), F(1, 10)),
        (lambda: exact.epsilon(np.float64(1 / 3)), F(333_333_333, 10**9)),
        (lambda: exact.epsilon(1.9999999999e-9), F(1, 10**9)),
        (lambda: exact.epsilon(1000.0000000001), F(1000)),
        *[
            (lambda each=each: exact.epsilon(each), epsilon)
            for each in (0, -1, "0", "1/3", "1e-10", "0.1234567891", 1001, "1000.000000001", 9e-10, -0.5, None, True,
                         "x", float("nan"), float("inf"), Decimal("1e-10"), 1000.1)
        ],
        (lambda: exact.delta(0), F(0)),
        (lambda: exact.delta("1e-18"), F(1, 10**18)),
        (lambda: exact.delta(1e-8), F(1, 10**8)),
        (lambda: exact.delta("0.999999999999999999"), 1 - F(1, 10**18)),
        *[
            (lambda each=each: exact.delta(each), delta)
            for each in (1, 2, -1, "-1e-18", "1e-19", "1/3", None, True, "x", float("nan"))
        ],
    ]  # fmt: skip


def _scales() -> Cases:
    sensitive, scale = Denied("Sensitivity"), Denied("Noise scale")
    floats = (0.1, 0.7, np.float64(0.1), np.float32(0.1), np.float32(0.7), np.float16(0.0654))
    return [
        (lambda: exact.sensitivity(1), F(1)),
        *[
            (lambda read=read, each=each: read(each), max(F(str(each)), F(float(each))))
            for read in (exact.sensitivity, exact.scale)
            for each in floats
        ],
        (lambda: exact.sensitivity(_HUGE), _HUGE),
        (lambda: exact.sensitivity(_TINY), _TINY),
        *[
            (lambda each=each: exact.sensitivity(each), sensitive)
            for each in (0, -1, _HUGE + 1, _TINY / 2, _TINY * F(999, 1000), None, True, "x", float("inf"))
        ],
        (lambda: exact.scale("1/3"), F(1, 3)),
        (lambda: exact.scale(_WIDE), _WIDE),
        (lambda: exact.scale(_SMALL), _SMALL),
        (lambda: exact.scale(2**50, array=True), F(2**50)),
        (lambda: exact.scale(2**50 + 1), F(2**50 + 1)),
        (lambda: exact.scale(_SMALL, array=True), _SMALL),
        (lambda: exact.scale(2**50 + 1, array=True), Denied("to 2^50 for an array")),
        *[
            (lambda each=each: exact.scale(each), scale)
            for each in (0, F(0), -1, F(-1), _WIDE + 1, _SMALL / 2, None, True, "x", float("nan"))
        ],
    ]


def _bounds() -> Cases:
    wrong: tuple[tuple[Any, Any], ...] = (
        (1, 1), (2, 1), (None, 1), (0, None), ("x", 1), (0, "x"), (True, 2), (0, float("inf")), (-_HUGE - 1, 0),
        (0, _HUGE + 1),
    )  # fmt: skip
    return [
        (lambda: exact.bounds("0.5", 2), (F(1, 2), F(2))),
        (lambda: exact.bounds(-1, -0.5), (F(-1), F(-1, 2))),
        (lambda: exact.bounds(-_HUGE, _HUGE), (-_HUGE, _HUGE)),
        *[(lambda each=each: exact.bounds(*each), Denied("low < high")) for each in wrong],
    ]


def _probabilities() -> Cases:
    return [
        (lambda: exact.probability(0.95), F(19, 20)),
        (lambda: exact.probability(_NEAR), _NEAR),
        (lambda: exact.probability(1 - _NEAR), 1 - _NEAR),
        *[
            (lambda each=each: exact.probability(each), Denied("lies between 0 and 1"))
            for each in (0, 1, -1, 2, _NEAR / 2, 1 - _NEAR / 2, None, True, "x")
        ],
    ]


def _whole() -> Cases:
    usual, none = Denied("n is a whole number from 1 to 10^18"), Denied("n is a whole number, 1 or larger")
    return [
        (lambda: exact.whole(1, "n"), 1),
        (lambda: exact.whole(3.0, "n"), 3),
        (lambda: exact.whole("3", "n"), 3),
        (lambda: exact.whole(np.int64(3), "n"), 3),
        (lambda: exact.whole(10**18, "n"), 10**18),
        (lambda: exact.whole(10**19, "n", None), 10**19),
        (lambda: exact.whole(0, "n", least=0), 0),
        (lambda: exact.whole(5, "n", 5, 5), 5),
        *[
            (lambda each=each: exact.whole(each, "n"), usual)
            for each in (0, -1, 10**18 + 1, 1.5, "1/2", None, True, "x", float("inf"))
        ],
        (lambda: exact.whole(0, "n", None), none),
        (lambda: exact.whole(6, "n", 5), Denied("n is a whole number from 1 to 5")),
        (lambda: exact.whole(-1, "n", 5000, 0), Denied("n is a whole number from 0 to 5,000")),
        (lambda: exact.whole(1, "n", None, 2), Denied("n is a whole number, 2 or larger")),
    ]


def _signs() -> Cases:
    return [
        (lambda: exact.positive("1/3", "p"), F(1, 3)),
        (lambda: exact.positive(0, "p"), Denied("p is a positive number")),
        (lambda: exact.positive(-1, "p"), Denied("p = -1")),
        (lambda: exact.positive("x", "p"), Denied('p = "x"')),
        (lambda: exact.nonnegative(0, "p"), F(0)),
        (lambda: exact.nonnegative(2, "p"), F(2)),
        (lambda: exact.nonnegative(-1, "p"), Denied("p is a number, 0 or larger")),
        (lambda: exact.nonnegative(None, "p"), Denied("p = nothing")),
    ]


def _texts() -> Cases:
    shown = {
        F(0): "0", F(7): "7", F(-7): "-7", F(100): "100", F(1, 2): "0.5", F(-1, 8): "-0.125", F(1, 3): "1/3",
        F(-2, 7): "-2/7", F(1, 15): "1/15", F(3, 25): "0.12", F(10**30): f"1{0:030d}",
        F(1, 10**18): f"0.{1:018d}",
        F(1, 10**19): f"1/{10**19}", F(1, 2**59): f"0.{5**59:059d}",
        F(1, 2**60): f"1/{2**60}", F(10**50 + 1, 10): f"{10**49}.1",
    }  # fmt: skip
    return [(partial(exact.text, each), meant) for each, meant in shown.items()]


def _decimals() -> Cases:
    five = exact.arithmetic(5)
    return [
        (lambda: exact.as_decimal(F(1, 3), five), Decimal("0.33333")),
        (lambda: exact.as_decimal(F(2, 3), five), Decimal("0.66667")),
        (lambda: exact.as_decimal(F(100_001, 100_000), five), Decimal("1.0000")),
        (lambda: exact.as_decimal(F(100_003, 2 * 10**5), exact.arithmetic(5)), Decimal("0.50002")),
        (lambda: exact.unit(five, 1), Decimal("0.0001")),
        (lambda: exact.unit(five, 3), Decimal("0.0003")),
        (lambda: five.divide(Decimal(1), Decimal(0)), Decimal("Infinity")),
        (lambda: five.multiply(Decimal("1e-999999999"), Decimal("1e-9999")), Decimal("1E-1000009998")),
        (lambda: five.multiply(Decimal("1e999999999"), Decimal("1e9999")), Decimal("1E+1000009998")),
    ]


# --- sensitivities ---


def sensitivities() -> dict[str, Cases]:
    """Return what the functions of the catalogue must return, and refuse."""
    s: Any = sensitivity
    one = "change_one"
    wrong = Denied('neighbors is "add_remove" or "change_one"')
    missing = Denied("Nothing was given for n")
    both: dict[str, Any] = {"mean": s.mean, "variance": s.variance, "std": s.std}
    ranges = (s.minimum, s.maximum, s.median)
    root, least = s.std(0, 1, 3, neighbors=one), F(1, 2**60)
    whole = Denied("n is a whole number from 1 to 10^18")
    return {
        "count": [(s.count, F(1)), (lambda: s.count(neighbors=one), F(0)), (lambda: s.histogram(), F(1)),
                  (lambda: s.histogram(neighbors=one), F(2)), (lambda: s.count(neighbors=_as("x")), wrong),
                  (lambda: s.histogram(neighbors=_as(None)), wrong), (lambda: s.count(neighbors=_as([one])), wrong)],
        "proportion": [(s.proportion, F(1, 2)), (lambda: s.proportion(5), F(1, 2)),
                       (lambda: s.proportion(5, neighbors=one), F(1, 5)),
                       (lambda: s.proportion(neighbors=one), missing)],
        "sum": [(lambda: s.sum(-2, 5), F(5)), (lambda: s.sum(-7, 5), F(7)), (lambda: s.sum(3, 5), F(5)),
                (lambda: s.sum(-7, -5), F(7)), (lambda: s.sum(-2, 5, neighbors=one), F(7)),
                (lambda: s.sum(3, 5, neighbors=one), F(2)), (lambda: s.sum(5, 3), Denied("low < high"))],
        "moments": [(lambda: s.mean(-2, 5), F(7, 2)), (lambda: s.mean(-2, 5, 9), F(7, 2)),
                    (lambda: s.mean(-2, 5, 9, neighbors=one), F(7, 9)),
                    (lambda: s.mean(-2, 5, 1, neighbors=one), F(7)),
                    (lambda: s.variance(-2, 5), F(49, 4)), (lambda: s.variance(-2, 5, 9), F(49, 4)),
                    (lambda: s.variance(-2, 5, 9, neighbors=one), F(49 * 8, 81)),
                    (lambda: s.variance(-2, 5, 1, neighbors=one), F(0)),
                    (lambda: s.std(-2, 5), F(7, 2)), (lambda: s.std(-2, 5, 9), F(7, 2)),
                    (lambda: s.std(-2, 5, 5, neighbors=one), F(14, 5)),
                    (lambda: s.std(-2, 5, 1, neighbors=one), F(0)),
                    (lambda: root * root >= F(2, 9), True), (lambda: (root - least) ** 2 < F(2, 9), True)],
        "rows": [*[(lambda each=each: each(0, 1, neighbors=one), missing) for each in both.values()],
                 *[(lambda each=each, n=n: each(0, 1, n), whole)
                   for each in both.values() for n in (0, 1.5, True, 10**18 + 1)],
                 *[(lambda each=each, n=n: each(0, 1, n, neighbors=one), whole)
                   for each in both.values() for n in (0, -1, 1.5, True, 10**18 + 1)],
                 *[(lambda each=each: each(1, 1), Denied("low < high")) for each in both.values()]],
        "ranges": [*[(lambda each=each: each(-2, 5), F(7)) for each in ranges],
                   *[(lambda each=each: each(-2, 5, neighbors=one), F(7)) for each in ranges],
                   *[(lambda each=each: each(-2, 5, neighbors="x"), wrong) for each in ranges],
                   *[(lambda each=each: each(5, 5), Denied("low < high")) for each in ranges]],
        "vector": [(lambda: s.vector(1, "1/2", 0.25), F(7, 4)), (s.vector, F(0)),
                   (lambda: s.vector(1, 0), Denied("Sensitivity 0")), (lambda: s.vector(_as("x")), Denied("Sensi"))],
        "entries": [(lambda: [each.claim for each in map(s.entry, s.CATALOGUE)], [f"S{i}" for i in range(1, 11)]),
                    (lambda: s.entry("mean").formula("add_remove"), "(U - L)/2"),
                    (lambda: s.entry("mean").formula(one), "(U - L)/n"),
                    (lambda: s.entry("mean").formula(_as("x")), wrong),
                    (lambda: s.entry("meen"), Denied("mean")), (lambda: s.entry(_as(7)), Denied("7"))],
    }  # fmt: skip


# --- integers as they are recorded ---


def packing() -> dict[str, Cases]:
    """Return columns of integers, recorded and read back, and records that are none."""
    widths = {
        1: (0, 127, -128), 2: (128, -129, 32767, -32768), 3: (32768, -(2**23)), 8: (2**63 - 1, -(2**63)),
        9: (2**63, -(2**63) - 1, -1), 16: (2**127 - 1, -(2**127)), 37: (2**295 - 1, -(2**295)),
    }  # fmt: skip
    return {
        "columns": _integer_columns(),
        "packed": [
            case
            for width, values in widths.items()
            for some in (values, *((each,) for each in values[:2] if width < 9 or each != -1))
            for case in (
                (lambda some=some: cells.packed(cells.column(some))["width"], width),
                (
                    lambda some=some: _bytes(some),
                    b"".join(each.to_bytes(width, "little", signed=True) for each in some),
                ),
                (lambda some=some: _again(some), list(some)),
            )
        ],
        "long": [(lambda: _again(range(-100_000, 100_000)), list(range(-100_000, 100_000))), (_too_wide, True)],
        "recorded": _recorded(),
        "records": [(lambda each=each: _unreadable(*each), True) for each in _wrong_records()],
    }


def _integer_columns() -> Cases:
    return [
        (lambda: cells.column([1, -(2**63)]).dtype.str, "<i8"),
        (lambda: cells.column([1, 2**63]).dtype.str, "|O"),
        (lambda: cells.column([1, 2**63]).tolist(), [1, 2**63]),
        (lambda: cells.largest(cells.column([3, -7])), 7),
        (lambda: cells.largest(cells.column([9, -7])), 9),
        (lambda: cells.largest(cells.column([-(2**63)])), 2**63),
        (lambda: cells.largest(cells.column([])), 0),
        (lambda: _added([1, 2, 3], [0, 2], [10, -5]), [11, 2, -2]),
        (lambda: _added([2**62, 2], [0], [2**62 - 1]), [2**63 - 1, 2]),
        (lambda: _added([2**62, 2], [0], [2**62]), [2**63, 2]),
        (lambda: _added([2**63, 2], [1], [5]), [2**63, 7]),
        (lambda: _added([-(2**62), 2], [0], [-(2**62) - 1]), [-(2**63) - 1, 2]),
        (lambda: cells.add(cells.column([2**62]), np.array([0]), cells.column([2**62 - 1])).dtype.str, "<i8"),
    ]  # fmt: skip


def _added(into: list[int], places: list[int], values: list[int]) -> list[int]:
    added: list[int] = cells.add(cells.column(into), np.array(places, dtype=np.int64), cells.column(values)).tolist()
    return added


def _bytes(values: Any) -> bytes:
    import base64

    return zlib.decompress(base64.b64decode(cells.packed(cells.column(values))["packed"]))


def _again(values: Any) -> Any:
    return cells.unpacked(cells.packed(cells.column(values)), len(values)).tolist()


def _too_wide() -> bool:
    try:
        cells.packed(cells.column([2**295]))
    except OverflowError:
        return True
    return False


def _recorded() -> Cases:
    few, many = np.arange(100_000), np.arange(100_001)
    return [
        (lambda: cells.recorded([[few]]), [[list(range(100_000))]]),
        (
            lambda: cells.recorded([[few[:50_000]], [few[50_000:]]]),
            [[list(range(50_000))], [list(range(50_000, 100_000))]],
        ),
        (lambda: cells.recorded([[many]]), [[cells.packed(many)]]),
        (lambda: cells.recorded([[few], [many[:1]]]), [[cells.packed(few)], [cells.packed(many[:1])]]),
        (lambda: cells.unpacked([1, -2], 2).tolist(), [1, -2]),
        (lambda: cells.unpacked([], 0).tolist(), []),
        (lambda: cells.unpacked(cells.packed(cells.column([])), 0).tolist(), []),
    ]


def _wrong_records() -> list[tuple[Any, int]]:
    right = cells.packed(cells.column([1, 2, 300]))
    raw = b"\1\0\2\0\x2c\1"
    return [
        ([1, 2], 3), ([1, 2], 1), ([1, 2.0], 2), ([1, True], 2), ([1, None], 2), (None, 0), ("", 0), ((1, 2), 2),
        (right, 2), (right, 4), ({**right, "more": 1}, 3), ({"width": 2}, 3), ({**right, "packed": None}, 3),
        ({**right, "width": 1}, 3), ({**right, "width": 3}, 3), ({**right, "width": 0}, 3), ({**right, "width": -1}, 3),
        ({**right, "width": 2.0}, 3), ({**right, "width": True}, 6), ({**right, "width": 38}, 3),
        ({**right, "packed": right["packed"][:-4]}, 3), ({**right, "packed": "!" + right["packed"][1:]}, 3),
        (_packed(zlib.compress(raw) + b"x"), 3), (_packed(zlib.compress(raw)[:-1]), 3), (_packed(raw), 3),
        (_packed(zlib.compress(raw + b"\0\0")), 3), (_packed(zlib.compress(raw[:-1])), 3), (_packed(b""), 3),
    ]  # fmt: skip


def _packed(raw: bytes) -> dict[str, Any]:
    return {"width": 2, "packed": b64encode(raw).decode()}


def _unreadable(record: Any, length: int) -> bool:
    """Return whether a record is told to be none, in the one way that callers expect."""
    try:
        cells.unpacked(record, length)
    except ValueError:
        return True
    return False


def _as(value: object) -> Any:
    return value
