"""What is recorded and shown is what was released: in lists and packed, of any size, in every form of an answer."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from importlib.util import find_spec
from random import Random
from typing import Any

import duckdb
import numpy as np

from ...measure.cells import READABLE, add, column, packed, recorded, unpacked
from ...question import query
from ...question.schema import keys, number
from ...release.discover import plan_keys
from ...release.result import Release
from ..finding import Finding, all_right
from ..room import Room
from ..tools.again import read_once, with_cells, without_noise
from ..tools.noise import at_least

SEED = 29


def forms_of_answers(room: Room) -> Iterator[Finding]:
    """Yield whether records and answers hold the numbers that were released."""
    random = Random(SEED)
    yield _records(random)
    yield _additions(random)
    yield from _forms(room)
    yield _huge(room, random)
    yield _key_plans(room, random, 300 if room.deep else 30)
    yield _cells_of_plans(room)


def _cells_of_plans(room: Room) -> Finding:
    """In a notebook a plan shows what its error bars hold with, and nothing where it has nothing to say."""
    asked = room.source(room.table({"x": [1.0]}, {"x": "DOUBLE"}), columns={"x": number(0, 8)})
    wrong = []
    for confidence, shown in (("0.95", "95 % error bar"), ("0.5", "50 % error bar")):
        cell = asked.plan(query.mean("x"), epsilon=1, confidence=confidence)._repr_html_()
        wrong += [] if shown in cell and "None" not in cell else [shown]
    return Finding("plans in a notebook", not wrong, all_right(wrong, 2))


# --- records ---


def _records(random: Random) -> Finding:
    """Columns of integers of any size come back from their record, which is JSON, as lists and packed."""
    wrong, tried = [], 0
    for bits in (1, 7, 8, 9, 15, 16, 31, 32, 33, 55, 62, 63, 64, 65, 100, 200, 290):
        ends = [2 ** (bits - 1) - 1, -(2 ** (bits - 1)), 2 ** (bits - 1), 0, -1, 1]
        values = [*ends, *(random.getrandbits(bits) * random.choice((-1, 1)) for _ in range(30))]
        for some in (values, values[:1], [-(2 ** (bits - 1))] * 3, []):
            for record in (packed(column(some)), recorded([[column(some)]])[0][0]):
                tried += 1
                back = unpacked(json.loads(json.dumps(record)), len(some)).tolist()
                wrong += [] if back == some else [f"{bits} bits"]
    many = np.arange(READABLE + 1) - READABLE // 2
    record = json.loads(json.dumps(recorded([[many]])))
    tried += 1
    short = isinstance(record[0][0], dict)
    wrong += [] if short and np.array_equal(unpacked(record[0][0], many.size), many) else ["many"]
    return Finding(f"integers in a record (seed {SEED})", not wrong, all_right(wrong, tried))


def _additions(random: Random) -> Finding:
    """Noise and integers of any size are added exactly, each in its own place."""
    wrong, sizes = [], (10, 62, 63, 64, 80)
    for first in sizes:
        for second in sizes:
            noise = [random.getrandbits(first) * random.choice((-1, 1)) for _ in range(7)] + [2**first - 1]
            values = [random.getrandbits(second) * random.choice((-1, 1)) for _ in range(3)] + [2**second - 1]
            places, due = [5, 0, 2, 7], list(noise)
            for place, value in zip(places, values, strict=True):
                due[place] += value
            found = add(column(noise), np.array(places), column(values)).tolist()
            wrong += [] if found == due else [f"{first} and {second} bits"]
    return Finding("sums of integers and noise", not wrong, all_right(wrong, len(sizes) ** 2))


# --- forms ---


def _answer(room: Room) -> Release:
    """Return a release without noise of two columns of keys, whose groups all have different numbers of rows."""
    table = room.select(
        "SELECT a, b, (a * 3 + b) * 1.5 AS x FROM range(4) AS t(a), range(3) AS v(b), range(40) AS w(i)"
        " WHERE i <= a * 3 + b * 2 + (a * b) % 5"
    )
    columns = {"a": keys({code: f"label {code}" for code in (3, 0, 2, 1)}), "b": keys(range(3)), "x": number(0, 20)}
    plan = room.source(table, columns=columns).plan(query.count(), query.mean("x"), by=("a", "b"), epsilon=1)
    return without_noise(plan, table)


def _forms(room: Room) -> Iterator[Finding]:
    """Every form of an answer has the same numbers for the same keys, and the keys are those of the rows."""
    made = _answer(room)
    due = {}
    for a in range(4):
        for b in range(3):
            rows = min(a * 3 + b * 2 + (a * b) % 5, 39) + 1
            due[a, b] = (float(rows), (a * 3 + b) * 1.5)
    forms = {"rows": [_flat(row) for row in made.rows], "to_dict": [_flat(row) for row in made.to_dict()["rows"]]}
    forms["flat"] = _rows(made.flat())
    forms["pieces"] = [row for piece in made.pieces() for row in _rows(piece)]
    forms["items"] = _rows({name: made[name] for name in ("a", "a_label", "b")} | _named(made))
    forms["to_csv"] = [dict(row) for row in csv.DictReader(io.StringIO(made.to_csv()))]
    path = room.path("csv")
    made.to_csv(path)
    forms["a file of to_csv"] = [dict(row) for row in csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))]
    path = room.path("parquet")
    made.to_parquet(path)
    with duckdb.connect() as connection:
        found = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
        names = [each[0] for each in found.description or ()]
        forms["to_parquet"] = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    lacking = [library for library in ("pandas", "polars", "pyarrow") if not find_spec(library)]
    if "pandas" not in lacking:
        forms["to_pandas"] = made.to_pandas().to_dict("records")
    if "polars" not in lacking and "pyarrow" not in lacking:
        forms["to_polars"] = made.to_polars().to_dicts()
        forms["to_arrow"] = made.to_arrow().to_pylist()
    wrong = [form for form, rows in forms.items() if not _is_answer(rows, due)]
    pages = {"str": str(made), "to_text": made.to_text(), "to_html": made.to_html(), "a cell": made._repr_html_()}
    wrong += [form for form, text in pages.items() if not _is_told(text)]
    told = f"{all_right(wrong, len(forms) + len(pages))}" + (
        f"; not installed: {', '.join(lacking)}" if lacking else ""
    )
    yield Finding("the forms of an answer", not wrong, told)
    yield _views(made)


def _named(made: Release) -> dict[str, Any]:
    return {f"{name}{end}": getattr(made[name], field) for name in ("count", "mean_x") for end, field in _ENDS.items()}


_ENDS = {"": "value", "_low": "low", "_high": "high"}


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    bars = {f"{name}{end}": row[name][field] for name in ("count", "mean_x") for end, field in _ENDS.items()}
    return {**{name: row[name] for name in ("a", "a_label", "b")}, **bars}


def _rows(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _is_answer(rows: Sequence[Mapping[str, Any]], due: Mapping[tuple[int, int], tuple[float, float]]) -> bool:
    """Return whether each group is there once, in the order of its keys, with its numbers inside their bars."""
    order = [(int(row["a"]), int(row["b"])) for row in rows]
    if order != [(a, b) for a in (3, 0, 2, 1) for b in range(3)]:
        return False
    if any(row["a_label"] != f"label {a}" for (a, _), row in zip(order, rows, strict=True)):
        return False
    for key, row in zip(order, rows, strict=True):
        for name, true in zip(("count", "mean_x"), due[key], strict=True):
            value, low, high = (float(row[f"{name}{end}"]) for end in _ENDS)
            if abs(value - true) > 1e-4 or not low <= value <= high or low == high:
                return False
    return True


def _is_told(text: str) -> bool:
    """Return whether a text shows each label as often as there are groups with it, in their order.

    The JSON in a page, which has them once more, is left out.
    """
    shown = re.sub(r"(?s)<script.*?</script>", "", text)
    return re.findall(r"label \d", shown) == [f"label {a}" for a in (3, 0, 2, 1) for _ in range(3)]


def _views(made: Release) -> Finding:
    """Without negative numbers a view has the others unchanged; larger confidences have wider bars."""
    fewer = 20 * made.plan.parts[0].measurement.mass
    lower = with_cells(made, [[cell - fewer for cell in part] for part in made.cells])
    plain, view = lower.estimates["count"], lower.nonnegative().estimates["count"]
    same = all(np.array_equal(np.maximum(a, 0), b) for a, b in zip(plain, view, strict=True))
    widths = [_width(made.at(confidence)) for confidence in ("0.5", "0.95", "0.999")]
    wider = widths[0] < widths[1] < widths[2] and _width(made.at("0.95", simultaneous=True)) > widths[1]
    passed = same and wider and bool((plain.value < 0).any())
    told = f"widths {', '.join(f'{each:g}' for each in widths)} at 50, 95 and 99.9 %; negative counts become "
    return Finding("views of an answer", passed, f"{told}{'0' if same else 'something else'}")


def _width(made: Release) -> float:
    bar = made.estimates["count"]
    return float((bar.high - bar.low).max())


# --- large numbers, and plans for keys ---


def _huge(room: Room, random: Random) -> Finding:
    """Noisy integers of any size are shown as their sums are, with bars that hold the value."""
    types = {"x": "DOUBLE", "z": "BIGINT"}
    table, wrong = room.table({"x": [1.0], "z": [5]}, types), []
    columns = {"x": number(-(10**30), 10**30), "z": number(-(2**53), 2**53, integer=True)}
    source = room.source(table, columns=columns)
    plans = [source.plan(each, epsilon="0.001") for each in (query.sum("x"), query.sum("z"), query.count())]
    made = [read_once(plan, table).release() for plan in plans]
    sizes = (10, 40, 61, 62, 63, 64, 70, 90)
    for each in made:
        (part,) = each.plan.parts
        unit = part.measurement.unit(each.plan.setting(part))
        name = str(each.plan.query.statistics[0].name)
        for bits in sizes:
            cell = random.getrandbits(bits) * random.choice((-1, 1))
            bar = with_cells(each, [[column([cell])]]).estimates[name]
            value, low, high = (float(end[0]) for end in bar)
            due = float(cell * unit)
            margin = each.plan.forecasts[0].margin
            near = 1e-9 * (abs(due) + margin) + 1
            fine = abs(value - due) <= near and abs(high - value - margin) <= near and abs(value - low - margin) <= near
            wrong += [] if fine else [f"{name} of {cell}: {value}, {low} to {high}"]
    return Finding("numbers of up to 90 bits, shown", not wrong, all_right(wrong, len(sizes) * len(made)))


def _key_plans(room: Room, random: Random, tries: int) -> Finding:
    """A key of one person is shown with at most δ, and one with as many people as stated in 95 of 100 cases."""
    wrong = []
    for _ in range(tries):
        people, change = random.random() < 0.6, random.random() < 0.4
        described: dict[str, Any] = {"neighbors": "change_one"} if change else {}
        described |= {"person": "p", "rows_per_person": random.choice((1, 3))} if people else {}
        source = room.source("none.parquet", columns={"k": "text"}, **described)
        epsilon, delta = Fraction(random.randrange(1, 5000), 1000), Fraction(1, 10 ** random.choice((2, 4, 8, 15)))
        each = random.choice((1, 2, 5)) if people else 1
        plan = plan_keys(source.schema, "k", epsilon=epsilon, delta=delta, keys_per_person=each)
        scale = each * (2 if change else 1) / epsilon
        reached = [float(at_least(scale, t - 1)) for t in (plan.threshold, plan.threshold - 1)]
        lost, before = (-math.expm1(each * math.log1p(-chance)) for chance in reached)
        sure, less = (float(at_least(scale, plan.threshold - people)) for people in (plan.surely, plan.surely - 1))
        fine = lost <= float(delta) * (1 + 1e-9) and before > delta and sure >= 0.95 * (1 - 1e-9) and less < 0.95
        told = f"ε = {epsilon}, δ = {delta}, {each} keys: {lost:.3g}, {sure:.4f}"
        wrong += [] if fine and plan.scale == scale else [told]
    return Finding(f"plans for keys (seed {SEED})", not wrong, all_right(wrong, tries))
