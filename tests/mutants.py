"""Deliberately broken builds, each of which the audit must flag: ``make mutants`` prints the score, which stays 100 %.

A mutant is a copy of the package with one piece of text replaced, which must be there just once: when the code changes,
its mutant has to change too.  It counts as flagged when `lapwing audit --only CHECK` ends with a finding that fails;
the check is the one that is meant to see this fault.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import click

PACKAGE = Path(__file__).parent.parent / "src" / "lapwing"


@dataclass(frozen=True)
class Mutant:
    """A fault: the traps it stands for, the check that must see it, the file, and the text that is replaced."""

    fault: str
    traps: str
    check: str
    file: str
    old: str
    new: str

    def broken(self) -> str:
        """Return the file with the fault in it."""
        text = (PACKAGE / self.file).read_text()
        if text.count(self.old) != 1:
            raise ValueError(f'the mutant "{self.fault}" fits {text.count(self.old)} places of {self.file}, not one')
        return text.replace(self.old, self.new)


MUTANTS = (
    # --- the noise ---
    Mutant(
        "the scale of the noise is 5 % too small",
        "T13",
        "bound",
        "measure/measurement.py",
        "        return self.sensitivity(setting) / setting.epsilon\n",
        "        return self.sensitivity(setting) / setting.epsilon * Fraction(19, 20)\n",
    ),
    Mutant(
        "randomized response draws flips for the last axis of an array only",
        "T13",
        "sampler",
        "noise/mechanism.py",
        "discrete_laplace(1 / budget, truth.shape, entropy=entropy)",
        "discrete_laplace(1 / budget, truth.shape[-1:], entropy=entropy)",
    ),
    Mutant(
        "the missing cell of a categorical column is read as the last category",
        "T19",
        "reading",
        "engine/frames.py",
        "    renamed = np.array([*(-1 if text is None else places[text] for text in texts), -1], dtype=np.int64)",
        "    renamed = np.array([-1 if text is None else places[text] for text in texts], dtype=np.int64)",
    ),
    Mutant(
        "less noise is added than the plan declares",
        "T36",
        "laws",
        "measure/measurement.py",
        "        scale, length = self.scale(setting), self.length(setting.groups)\n",
        "        scale, length = self.scale(setting) * 99 / 100, self.length(setting.groups)\n",
    ),
    Mutant(
        "the law of the sampler is a little off",
        "T1",
        "sampler",
        "noise/sampler.py",
        "math.ldexp(float(context.add(Decimal(1), decay)), -64)",
        "math.ldexp(float(context.add(Decimal(1), decay)), -64) * 1.001",
    ),
    Mutant(
        "the tails of the noise are cut",
        "T1",
        "sampler",
        "noise/sampler.py",
        '                np.copyto(part, scratch[1], casting="unsafe")\n',
        '                np.copyto(part, np.clip(scratch[1], -16 * law.size, 16 * law.size), casting="unsafe")\n',
    ),
    Mutant(
        "floats get noise off the grid",
        "T1 T2",
        "sampler",
        "noise/mechanism.py",
        "return math.ldexp(float(index + discrete_laplace(self.scale, entropy=entropy)), self.exponent)",
        "return value + math.ldexp(float(discrete_laplace(self.scale, entropy=entropy)), self.exponent)",
    ),
    Mutant(
        "NaN goes through the bare mechanism",
        "T7 T8",
        "sampler",
        "noise/mechanism.py",
        "    if not math.isfinite(value):\n",
        "    if math.isinf(value):\n",
    ),
    Mutant(
        "one array of noise serves all cells of a measurement",
        "T20",
        "laws",
        "measure/measurement.py",
        "noise = [draws(scale, length, entropy, progress) for _ in self.names]",
        "noise = [draws(scale, length, entropy, progress)] * len(self.names)",
    ),
    Mutant(
        "one number of noise serves all groups",
        "T20",
        "laws",
        "measure/measurement.py",
        "noise = [draws(scale, length, entropy, progress) for _ in self.names]",
        "noise = [np.repeat(draws(scale, 1, entropy), length) for _ in self.names]",
    ),
    Mutant(
        "the key of the noise is always the same",
        "T21 T22",
        "sampler",
        "noise/entropy.py",
        "return Keystream(os.urandom(32))",
        "return Keystream(bytes(32))",
    ),
    Mutant(
        "the time of a draw grows with the noise",
        "T23",
        "timing",
        "noise/sampler.py",
        "    size = _decide_fast(bits, law)\n    if law.shift:",
        "    size = _decide_fast(bits, law)\n    for _ in range(int(size or 0)):\n        pass\n    if law.shift:",
    ),
    Mutant(
        "the last bits of large noise are 0",
        "T1 T2",
        "sampler",
        "noise/sampler.py",
        "    out |= second & ((1 << law.shift) - 1)\n",
        "",
    ),
    Mutant(
        "the last bits of single draws of large noise are 0",
        "T1 T2",
        "sampler",
        "noise/sampler.py",
        "low, first = uniform(1 << law.shift, entropy=entropy), entropy.bits(16)",
        "low, first = 0, entropy.bits(16)",
    ),
    Mutant(
        "every block of an array has the same noise",
        "T20",
        "sampler",
        "noise/entropy.py",
        "        view = words.view(np.uint8).data\n",
        "        self._cipher.reset_nonce(bytes(16))\n        view = words.view(np.uint8).data\n",
    ),
    Mutant(
        "the bare mechanism adds less noise to integers",
        "T13",
        "sampler",
        "noise/mechanism.py",
        "        return self.sensitivity / self.epsilon\n",
        "        return self.sensitivity / self.epsilon * Fraction(9, 10)\n",
    ),
    Mutant(
        "randomized response flips too few bits",
        "T1",
        "sampler",
        "noise/mechanism.py",
        "discrete_laplace(1 / budget, truth.shape, entropy=entropy) > 0",
        "discrete_laplace(1 / budget, truth.shape, entropy=entropy) > 1",
    ),
    # --- before the noise ---
    Mutant(
        "values above the bound are not clamped",
        "T14",
        "sensitivities",
        "engine/write_sql.py",
        'f"WHEN {cell} >= {high} THEN {grid.steps}{tiny}{beyond} ELSE CAST({steps} AS {whole}) END END"',
        'f"{tiny}{beyond} ELSE TRY_CAST({steps} AS {whole}) END END"',
    ),
    Mutant(
        "NaN and infinity count as numbers",
        "T7 T8",
        "sensitivities",
        "engine/write_sql.py",
        'f"CASE WHEN {to.finite.format(x=cell)} THEN CASE WHEN {cell} <= {low} THEN 0 "',
        'f"CASE WHEN TRUE THEN CASE WHEN {cell} <= {low} THEN 0 "',
    ),
    Mutant(
        "sums are made of doubles",
        "T3 T4",
        "sensitivities",
        "engine/write_sql.py",
        'return _Sum(name, (f"SUM({value})",))',
        'return _Sum(name, (f"CAST(SUM(CAST({value} AS DOUBLE)) AS HUGEINT)",))',
    ),
    Mutant(
        "sums wrap around",
        "T5 T6",
        "sensitivities",
        "engine/write_sql.py",
        'return _Sum(name, (f"SUM({value})",))',
        'return _Sum(name, (f"CAST(SUM({value}) % 65536 AS BIGINT)",))',
    ),
    Mutant(
        "people are not bounded",
        "T18",
        "sensitivities",
        "engine/write_sql.py",
        "shared = to.divided.format(a=k * full, b=rows)",
        "shared = full",
    ),
    Mutant(
        "a person is bounded before WHERE",
        "T18",
        "sensitivities",
        "engine/write_sql.py",
        '"  FROM bounded GROUP BY person),"',
        '"  FROM cleaned GROUP BY person),"',
    ),
    Mutant(
        "a person is bounded in each group",
        "T35",
        "sensitivities",
        "engine/write_sql.py",
        'people = [f"people AS (SELECT person, {weight}", "  FROM bounded GROUP BY person),"]\n'
        '        return people, "bounded JOIN people USING (person)"',
        'by = ", ".join(["person", *(f"k{i}" for i in range(len(keys)))])\n'
        '        people = [f"people AS (SELECT {by}, {weight}", f"  FROM bounded GROUP BY {by}),"]\n'
        '        return people, f"bounded JOIN people USING ({by})"',
    ),
    Mutant(
        "a person counts once for each row, and not once in each group",
        "T18",
        "sensitivities",
        "engine/write_sql.py",
        'bounded = f"DISTINCT {bounded}"',
        'bounded = f"{bounded}"',
    ),
    Mutant(
        "a person in several groups moves the number of people by one",
        "T35",
        "sensitivities",
        "measure/people.py",
        "return min(counted_in, setting.groups) * self.row_weight(schema)",
        "return self.row_weight(schema)",
    ),
    Mutant(
        "the number of people is not doubled for change_one",
        "T15",
        "sensitivities",
        "measure/people.py",
        'schema.most_rows * (1 if schema.neighbors == "add_remove" else 2)',
        "schema.most_rows",
    ),
    Mutant(
        "a person has any number of keys",
        "T35",
        "sensitivities",
        "engine/keys.py",
        "WHERE place <= {keys_per_person} GROUP BY key",
        "WHERE place <= {9 * keys_per_person} GROUP BY key",
    ),
    Mutant(
        "squares are not bounded anew",
        "T15",
        "sensitivities",
        "measure/partition.py",
        "return self.fine * int(self.grid.steps**self.degree) if self.degree else 1",
        "return self.fine * int(self.grid.steps) if self.degree else 1",
    ),
    Mutant(
        "a histogram moves by 1 when one person changes",
        "T13",
        "sensitivities",
        "measure/measurement.py",
        "        return 2 * schema.person_l1 * self.mass\n",
        "        return schema.person_l1 * self.mass\n",
    ),
    Mutant(
        "a sum moves by U - L when one person comes",
        "T13",
        "sensitivities",
        "measure/totals.py",
        "        return max(abs(self.grid.low), abs(self.grid.high))\n",
        "        return self.grid.high - self.grid.low - 1\n",
    ),
    Mutant(
        "every measurement spends all of ε",
        "T15 T29",
        "laws",
        "plan/planning.py",
        "parts = tuple(Part(each, total * share / whole) for each, share in zip(measured, shares, strict=True))",
        "parts = tuple(Part(each, total) for each, share in zip(measured, shares, strict=True))",
    ),
    Mutant(
        "a tree of counts moves as if it had one level",
        "T13 T15",
        "sensitivities",
        "measure/tree.py",
        "        return self.levels\n",
        "        return 1\n",
    ),
    Mutant(
        "people whose names differ by case are one",
        "T18",
        "sensitivities",
        "engine/write_sql.py",
        "{'person' if to.prepared else",
        "{'LOWER(CAST(person AS VARCHAR))' if to.prepared else",
    ),
    Mutant(
        "people are told apart by 53 bits",
        "T5 T18",
        "sensitivities",
        "engine/write_sql.py",
        "{'person' if to.prepared else",
        "{'COALESCE(CAST(TRY_CAST(person AS DOUBLE) AS VARCHAR), CAST(person AS VARCHAR))' if to.prepared else",
    ),
    Mutant(
        "in a data frame, 1 and its text are one person",
        "T18",
        "sensitivities",
        "engine/frames.py",
        'return None if number is None else f"{MARK}number {number}/1"',
        "return None if number is None else str(number)",
    ),
    Mutant(
        "a relation keeps people without case",
        "T18",
        "sensitivities",
        "engine/frame.py",
        'column = f"#{at + 1}" if to is None',
        'column = f"lower(#{at + 1})" if kind == "VARCHAR" else f"#{at + 1}" if to is None',
    ),
    Mutant(
        "discover takes rows that WHERE leaves out",
        "T18",
        "sensitivities",
        "engine/write_sql.py",
        "FROM cleaned{_where(schema, where, to)}),",
        "FROM cleaned{_where(schema, None, to)}),",
    ),
    Mutant(
        "the number of lines of a CSV file is taken as public",
        "T12",
        "sensitivities",
        "source.py",
        "        return table.stored\n",
        "        return table.stored or table.is_csv\n",
    ),
    Mutant(
        "the catalogue has a mean that moves too little",
        "T13",
        "sensitivities",
        "sensitivity.py",
        "return (high - low) / _rows(n, neighbors)",
        "return (high - low) / (_rows(n, neighbors) + 1)",
    ),
    Mutant(
        "the catalogue has one sum for both relations",
        "T13",
        "sensitivities",
        "sensitivity.py",
        "return high - low if _changes_one(neighbors) else max(abs(low), abs(high))",
        "return max(abs(low), abs(high))",
    ),
    Mutant(
        "weights are not divided by their sum",
        "T29",
        "laws",
        "plan/planning.py",
        "whole = sum(shares, Fraction(0))",
        "whole = Fraction(len(shares))",
    ),
    # --- reading ---
    Mutant(
        "truth values among objects are no numbers",
        "T7 T8",
        "reading",
        "engine/frames.py",
        "    v = float(value) if isinstance(value, int | float | Decimal | Fraction) else math.nan\n",
        "    known = isinstance(value, int | float | Decimal | Fraction) and not isinstance(value, bool)\n"
        "    v = float(value) if known else math.nan\n",
    ),
    Mutant(
        "numbers among objects have .0 in their text",
        "T5 T6",
        "reading",
        "engine/frames.py",
        "return str(int(v)) if v is not None and v.is_integer()",
        "return str(v) if v is not None and v.is_integer()",
    ),
    Mutant(
        "whole floats have .0 in their text",
        "T5 T6",
        "reading",
        "engine/reading.py",
        "THEN CAST(CAST({v} AS BIGINT) AS VARCHAR) END",
        "THEN CAST({{x}} AS VARCHAR) END",
    ),
    Mutant(
        "numbers from 2^53 on have a text, rounded or not",
        "T5 T6",
        "reading",
        "engine/reading.py",
        "CASE WHEN abs({v}) < {EXACT} AND",
        "CASE WHEN abs({v}) < 1e18 AND",
    ),
    Mutant(
        "a column of floats of 32 bits is read by its shortest texts",
        "T5 T6",
        "reading",
        "engine/reading.py",
        "    _SMALL: _read_number(_DOUBLE),\n",
        '    "FLOAT": _read_number(_NEAREST),\n    _SMALL: _read_number(_DOUBLE),\n',
    ),
    Mutant(
        "floats of 32 bits are read by their shortest text among objects",
        "T5 T6",
        "reading",
        "engine/frames.py",
        "    return value.item() if isinstance(value, np.generic) else None\n",
        "    if isinstance(value, np.float32):\n"
        "        return float(str(value))\n"
        "    return value.item() if isinstance(value, np.generic) else None\n",
    ),
    Mutant(
        "a column of moments is read in its time zone",
        "T38",
        "reading",
        "engine/frames.py",
        'column.dt.tz_convert("UTC").dt.tz_localize(None)',
        "column.dt.tz_localize(None)",
    ),
    Mutant(
        "moments among objects are read in their time zone",
        "T38",
        "reading",
        "engine/frames.py",
        '(value if value.tzinfo is None else value.tz_convert("UTC")).date()',
        "value.date()",
    ),
    Mutant(
        "numbers among objects are no truth values",
        "T7 T8",
        "reading",
        "engine/frames.py",
        "return None if v is None else str(v != 0).lower()",
        "return str(v != 0).lower() if isinstance(value, bool | np.bool_) else None",
    ),
    Mutant(
        "numbers among objects are read by what all of them are",
        "T5 T6",
        "reading",
        "engine/frames.py",
        "    convert = _person if kind is None else _OF_KIND[kind]\n",
        "    values = list(values)\n"
        "    if kind is not None and any(isinstance(value, str) for value in values):\n"
        "        return [_text(value) if isinstance(value, str) else None for value in values]\n"
        "    convert = _person if kind is None else _OF_KIND[kind]\n",
    ),
    Mutant(
        "nanoseconds are left to the engine",
        "T38",
        "reading",
        "engine/frames.py",
        '_forward(_seconds(values) if values.dtype == "datetime64[ns]" else values)',
        "_forward(values)",
    ),
    Mutant(
        "floats hide among people that are objects",
        "T5 T18",
        "reading",
        "engine/frame.py",
        "if any(each.kind is None and frames.has_large_floats(self._frame, each.place) for each in wanted):\n",
        "if False:\n",
    ),
    Mutant(
        "a frame that runs backward is left to the engine",
        "T24",
        "reading",
        "engine/frames.py",
        "    return values if values.strides[0] > 0 else values.copy()\n",
        "    return values\n",
    ),
    Mutant(
        "objects say themselves what text they are",
        "T7 T8",
        "reading",
        "engine/frames.py",
        "    str: str.__str__,\n",
        "    str: str,\n",
    ),
    Mutant(
        "categories are left to the engine",
        "T7 T8",
        "reading",
        "engine/frames.py",
        "        return _categories(column.cat.remove_unused_categories(), kind), True\n",
        "        return column.array, False\n",
    ),
    Mutant(
        "a person is read as a text cell is",
        "T18",
        "reading",
        "engine/duckdb.py",
        "kinds = [*(schema.columns[name].kind for name in columns), None]",
        'kinds = [*(schema.columns[name].kind for name in columns), "text"]',
    ),
    Mutant(
        "floats may be people",
        "T5 T18",
        "reading",
        "engine/reading.py",
        '    r"DECIMAL\\(\\d+,\\d+\\)": "CASE WHEN {x} = floor({x}) THEN {x} END",\n',
        '    r"FLOAT|DOUBLE|DECIMAL\\(\\d+,\\d+\\)": "CASE WHEN {x} = floor({x}) THEN {x} END",\n',
    ),
    Mutant(
        "names are compared without case",
        "T18",
        "reading",
        "engine/names.py",
        "    return [known.get(name) for name in wanted]\n",
        "    loose = {folded(name): at for name, at in known.items()}\n"
        "    return [loose.get(folded(name)) for name in wanted]\n",
    ),
    Mutant(
        "of columns with one name the first is taken",
        "T18",
        "reading",
        "engine/names.py",
        "(times[form] > 1 or any(",
        "(any(",
    ),
    Mutant(
        "a name that DuckDB has made is taken for one of the file",
        "T18",
        "reading",
        "engine/names.py",
        "times[form] > 1 or any(times[stem] > 1 for stem in _stems(form))",
        "times[form] > 1",
    ),
    Mutant(
        "files of a glob may differ in types",
        "T5 T18",
        "reading",
        "engine/parquet.py",
        "tuple(sorted((name, whole) for name, _, whole in columns))",
        "tuple(sorted(name for name, _, whole in columns))",
    ),
    Mutant(
        "files of a glob may differ in names",
        "T18",
        "reading",
        "engine/parquet.py",
        "tuple(sorted((name, whole) for name, _, whole in columns)) for columns in described}) > 1:",
        "len(columns) for columns in described}) > 1:",
    ),
    Mutant(
        "in JSON lines every number is a float",
        "T5 T18",
        "reading",
        "engine/json_lines.py",
        "return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)",
        "return float(digits)",
    ),
    Mutant(
        "lines of JSON that are no object count as public rows",
        "T12",
        "reading",
        "engine/json_lines.py",
        "    stored = False\n",
        "    stored = True\n",
    ),
    Mutant(
        "people of an SQLite file whose texts are not UTF-8 are one",
        "T18",
        "reading",
        "engine/sqlite_files.py",
        "    except UnicodeDecodeError:\n        return data\n",
        '    except UnicodeDecodeError:\n        return data.decode("utf-8", "replace")\n',
    ),
    Mutant(
        "a view of an SQLite file runs",
        "T50",
        "reading",
        "engine/sqlite_files.py",
        'if kinds[part] != "table":',
        'if kinds[part] == "virtual":',
    ),
    Mutant(
        "all files of a folder have the partition of the first",
        "T18",
        "reading",
        "engine/partitions.py",
        "if len(set(values)) == 1:",
        "if values:",
    ),
    Mutant(
        "a compressed file that was cut off ends early",
        "T50",
        "reading",
        "engine/compressed.py",
        "        if damaged:  # outside",
        "        if damaged:\n            return 0\n        if damaged:  # outside",
    ),
    Mutant(
        "line breaks within quotes end a record",
        "T50",
        "reading",
        "engine/records.py",
        "return _Signs(at, byte, ~odd if quoted else odd)",
        "return _Signs(at, byte, np.zeros_like(odd))",
    ),
    Mutant(
        "a carriage return ends a record",
        "T50",
        "reading",
        "engine/records.py",
        "    passed, quoted = 0, False  # of a record",
        '    text = text.replace(b"\\r", b"\\n")\n    passed, quoted = 0, False  # of a record',
    ),
    Mutant(
        "carriage returns are dropped from cells",
        "T50",
        "reading",
        "engine/records.py",
        "        strange[returns] |= data[at[returns] + 1] != _LF\n",
        "",
    ),
    Mutant(
        "a quote may stay open",
        "T50",
        "reading",
        "engine/records.py",
        "    if quoted ^ bool(len(quotes) % 2):\n",
        "    if quoted and len(quotes) > 10**9:\n",
    ),
    Mutant(
        "a quote may stand within a field",
        "T50",
        "reading",
        "engine/records.py",
        "        if not form.is_border[previous].all() or not line_ends.all():\n",
        "        if not previous.size and not line_ends.all():\n",
    ),
    Mutant(
        "records with line breaks in them are left out",
        "T50",
        "reading",
        "engine/records.py",
        'has_odd = odd.tell() > len(b"-\\n")',
        'has_odd = odd.tell() < len(b"-\\n")',
    ),
    Mutant(
        "files with quotes are left to the engine",
        "T50",
        "reading",
        "engine/records.py",
        "    if current.plain:\n",
        "    if current.names:\n",
    ),
    Mutant(
        "a file is read as UTF-8, whatever its encoding",
        "T50",
        "reading",
        "engine/encodings.py",
        '    if encoding in (None, "utf-8"):\n',
        '    if encoding != "utf-16":\n',
    ),
    Mutant(
        "a mark for thousands may be anywhere",
        "T38",
        "reading",
        "engine/reading.py",
        'whole = f"([0-9]*|[1-9][0-9]{{0,2}}({re.escape(thousands)}[0-9]{{3}})+)"',
        'whole = f"([0-9]|{re.escape(thousands)})*"',
    ),
    Mutant(
        "a person with a text for missing is someone",
        "T7",
        "reading",
        "engine/reading.py",
        "    if sql is None or text is None or not file.missing:\n",
        "    if sql is None or text is None or file.missing:\n",
    ),
    Mutant(
        "a code for missing is a value",
        "T7",
        "worlds",
        "engine/write_sql.py",
        "    if column.missing:\n        tests.append(",
        "    if column.missing and not tests:\n        tests.append(",
    ),
    Mutant(
        "codes for missing are not part of a question",
        "T27",
        "identity",
        "question/schema.py",
        "        if self.missing:\n            declaration",
        "        if self.missing and self.edges:\n            declaration",
    ),
    Mutant(
        "the number of rows that a filter left is public",
        "T12",
        "reading",
        "source.py",
        "        return table.stored\n",
        "        return not table.is_csv\n",
    ),
    # --- what depends on data ---
    Mutant(
        "the number of rows is taken as public",
        "T12",
        "replay",
        "release/pipeline.py",
        "    if any(each.public_rows for each in plan.measured) or plan.counts_publicly:\n",
        "    if tally.rows:\n",
    ),
    Mutant(
        "the scale depends on the number of rows",
        "T12",
        "replay",
        "release/pipeline.py",
        "        setting = plan.setting(part, public)\n",
        "        setting = replace(plan.setting(part, public), epsilon=part.epsilon / (1 + tally.rows // 2**17))\n",
    ),
    Mutant(
        "a huge value is an error",
        "T24",
        "replay",
        "release/pipeline.py",
        "    answer = _given_names(plan)\n    public = None\n",
        "    answer = _given_names(plan)\n"
        "    public = None\n"
        "    if tally.rows > 2**17:\n"
        '        raise LedgerError("t", "has too many rows", "Take some out.")\n',
    ),
    Mutant(
        "empty groups get no noise",
        "T10",
        "laws",
        "measure/measurement.py",
        "        return [add(cell, groups, value) for cell, value in zip(noise, exactly, strict=True)]\n",
        "        return [add(cell * np.isin(np.arange(len(cell)), groups), groups, value) "
        "for cell, value in zip(noise, exactly, strict=True)]\n",
    ),
    Mutant(
        "the threshold for keys is one too low",
        "T11",
        "laws",
        "release/discover.py",
        "if value >= plan.threshold]",
        "if value >= plan.threshold - 1]",
    ),
    Mutant(
        "the threshold forgets that a person may have several keys",
        "T11",
        "laws",
        "release/discover.py",
        "return DiscreteLaplace(self.scale).threshold(self.delta, self.keys_per_person)",
        "return DiscreteLaplace(self.scale).threshold(self.delta)",
    ),
    Mutant(
        "ranks are taken to move half as far as they do",
        "T13",
        "laws",
        "measure/selection.py",
        "widest = 2 * max(level, 1 - level) * self.schema.person_l1",
        "widest = max(level, 1 - level) * self.schema.person_l1",
    ),
    Mutant(
        "choices are 2 % surer than they may be",
        "T1",
        "laws",
        "noise/sampler.py",
        "_products(np.maximum(given[part], least) - least, step))",
        "_products(np.maximum(given[part], least) - least, step * Fraction(51, 50)))",
    ),
    Mutant(
        "some of the candidates at one distance are likelier",
        "T1",
        "sampler",
        "noise/sampler.py",
        "        while (drawn := entropy.bits(whole_bytes) >> (whole_bytes - length)) >= below:\n"
        "            pass\n"
        "        return drawn\n",
        "        return entropy.bits(whole_bytes) % below\n",
    ),
    Mutant(
        "the error bars of quantiles come on top of ε",
        "T15 T29",
        "laws",
        "measure/selection.py",
        "return self.epsilon * (1 - ends - _COUNTS if self.measurement.interval else 1) / self.depth",
        "return self.epsilon / self.depth",
    ),
    Mutant(
        "minimum and maximum come on top of the other quantiles",
        "T15 T29",
        "laws",
        "measure/selection.py",
        "return inner.bit_length() + (min(extremes, 1) if inner else extremes)",
        "return max(inner.bit_length(), 1)",
    ),
    Mutant(
        "a changed row moves ranks as far as one that comes",
        "T13",
        "laws",
        "measure/selection.py",
        "return Fraction(2 * self.schema.person_l1) if alone and not self.grouped else 2 * widest",
        "return widest",
    ),
    Mutant(
        "a changed row moves the counts of quantiles by 1",
        "T13",
        "laws",
        "measure/selection.py",
        'return self.schema.person_l1 * (1 if self.schema.neighbors == "add_remove" else 2)',
        "return self.schema.person_l1",
    ),
    # --- after the noise ---
    Mutant(
        "noisy counts are clamped at 0",
        "T30",
        "coverage",
        "release/pipeline.py",
        '    answer["cells"] = recorded(cells)\n',
        '    answer["cells"] = recorded([[np.maximum(cell, 0) for cell in part] for part in cells])\n',
    ),
    Mutant(
        "error bars are too narrow",
        "T31",
        "coverage",
        "measure/linear.py",
        "        return float(weight * DiscreteLaplace(scale).simultaneous_margin(groups, confidence))\n",
        "        return float(weight * DiscreteLaplace(scale * 7 / 8).simultaneous_margin(groups, confidence))\n",
    ),
    Mutant(
        "error bars that should hold at once are those of single cells",
        "T33",
        "coverage",
        "plan/plan.py",
        "        return 1 - (1 - confidence) / len(self.query.statistics), self.groups\n",
        "        return confidence, 1\n",
    ),
    Mutant(
        "engine errors are passed on",
        "T24",
        "canary",
        "engine/table.py",
        "failure = EngineError(self.name, what, budget, self.advice(error))",
        "failure = EngineError(self.name, what, budget, str(error))",
    ),
    Mutant(
        "the lower bound is taken from the data",
        "T9",
        "replay",
        "engine/write_sql.py",
        '    steps = f"FLOOR(({cell} - {low}) * {to.double(1 / grid.step)} + {to.double(Fraction(1, 2))})"\n',
        '    least = f"COALESCE((SELECT MIN({cell}) FROM cleaned WHERE {cell} > {low}), {low})"\n'
        '    steps = f"FLOOR(({cell} - {least}) * {to.double(1 / grid.step)} + '
        '{to.double(Fraction(1, 2))})"\n',
    ),
    Mutant(
        "keys come in the order of the data",
        "T10 T19",
        "sensitivities",
        "release/discover.py",
        "        self._rows = sorted(rows)\n",
        "        self._rows = list(rows)\n",
    ),
    Mutant(
        "keys below the threshold are recorded",
        "T10 T24",
        "canary",
        "release/discover.py",
        '"counts": [value for _, value in kept]}\n',
        '"counts": [value for _, value in kept]}\n        answer["below"] = [written(key) for key, _ in noisy]\n',
    ),
    Mutant(
        "an expression is shown as it prints itself, cells of a mask in it too",
        "T24",
        "canary",
        "question/expressions.py",
        'return pieces[int(text[1:])] if re.fullmatch(r"#\\d+", text) else None\n',
        'return pieces[int(text[1:])] if re.fullmatch(r"#\\d+", text) else text\n',
    ),
    Mutant(
        "the exact sums are shown by repr",
        "T24",
        "canary",
        "release/pipeline.py",
        '        return "Tally(hidden)"\n',
        '        return f"Tally({self._sums})"\n',
    ),
    # --- the ledger ---
    Mutant(
        "what the engine fails at is not charged",
        "T25",
        "ledgers",
        "release/pipeline.py",
        "        entry = ledger.charge(question, epsilon, delta, analyst)\n",
        "        made = noisy()\n"
        "        noisy = lambda: made\n"
        "        entry = ledger.charge(question, epsilon, delta, analyst)\n",
    ),
    Mutant(
        "what is charged depends on a balance that was read before",
        "T25",
        "ledgers",
        "ledger/ledger.py",
        "        asked = question_key(amount, amount_delta, text)\n"
        "        with self._turn(write=True) as turn:\n"
        "            last = turn.last\n"
        "            found = store.charge_of(turn.connection, asked)\n"
        "            if found:\n"
        "                return self._found(turn.connection, self._sound(found[0]))\n"
        "            mine = None if analyst is None else self._analyst(turn.connection, analyst)\n"
        "            self._refuse_beyond(last, mine, amount, amount_delta)\n",
        "        asked = question_key(amount, amount_delta, text)\n"
        "        with self._turn() as turn:\n"
        "            before = turn.last\n"
        "        with self._turn(write=True) as turn:\n"
        "            last = turn.last\n"
        "            found = store.charge_of(turn.connection, asked)\n"
        "            if found:\n"
        "                return self._found(turn.connection, self._sound(found[0]))\n"
        "            mine = None if analyst is None else self._analyst(turn.connection, analyst)\n"
        "            self._refuse_beyond(before, mine, amount, amount_delta)\n",
    ),
    Mutant(
        "the budget is compared as floats, with a slack",
        "T28",
        "ledgers",
        "ledger/ledger.py",
        "        if amount > left:\n",
        "        if amount / NANO > left / NANO + 1e-9:\n",
    ),
    Mutant(
        "ε = 0 is accepted",
        "T16 T17",
        "ledgers",
        "exact.py",
        "value is None or not 0 < value <= MAX_EPSILON or",
        "value is None or not 0 <= value <= MAX_EPSILON or",
    ),
    Mutant(
        "the same question again gets other noise",
        "T27",
        "ledgers",
        "release/pipeline.py",
        "    if not entry.answered:  # new, or charged before and never answered\n"
        "        answer = _unseen(lambda: ledger.record(entry, noisy()))\n",
        "    answer = noisy()\n"
        "    if not entry.answered:  # new, or charged before and never answered\n"
        "        ledger.record(entry, answer)\n",
    ),
    Mutant(
        "an edited entry is not found",
        "T26",
        "ledgers",
        "ledger/chain.py",
        '        if digest(row) != row["hash"]:\n',
        '        if len(digest(row)) != len(row["hash"]):\n',
    ),
    Mutant(
        "an open ledger goes on with an older copy",
        "T26",
        "ledgers",
        "ledger/ledger.py",
        "        if not found or digest(found[0]) != seen:\n",
        "        if found is None:\n",
    ),
    Mutant(
        "an open ledger remembers a number and no hash",
        "T26",
        "ledgers",
        "ledger/ledger.py",
        "        if not found or digest(found[0]) != seen:\n",
        "        if not found:\n",
    ),
    Mutant(
        "a new ledger is made in place of an empty file",
        "T26",
        "ledgers",
        "ledger/store.py",
        "    if not found.st_size:\n        raise LedgerError(\n",
        "    if not found.st_size:\n"
        "        kept.file.unlink()\n"
        "        return False\n"
        "    if not found.st_size:\n"
        "        raise LedgerError(\n",
    ),
    Mutant(
        "a new ledger takes the name of one that is there",
        "T25 T26",
        "ledgers",
        "ledger/store.py",
        "        os.link(made, target)\n",
        "        made.replace(target)\n",
    ),
    Mutant(
        "a ledger has its name before it is whole",
        "T25 T26",
        "ledgers",
        "ledger/store.py",
        '        made = Path(folder) / "new.ledger"\n',
        "        made = target\n",
    ),
    Mutant(
        "a ledger that is not named is in the working directory",
        "T26",
        "ledgers",
        "ledger/place.py",
        "    if folder is not None:\n        return beside(folder.absolute(), name, before)\n",
        "    if name:\n        return beside(Path(), name, before)\n",
    ),
    Mutant(
        "the name of a source is a path",
        "T26",
        "ledgers",
        "ledger/place.py",
        "    if _PLAIN.fullmatch(name):\n",
        "    if name:\n",
    ),
    Mutant(
        "two names share a ledger",
        "T26",
        "ledgers",
        "ledger/place.py",
        'return f"{start}={sha256(name.encode()).hexdigest()[:16]}.ledger"',
        'return f"{start}.ledger"',
    ),
    Mutant(
        "a ledger that is where it was kept before is left behind",
        "T26",
        "ledgers",
        "ledger/place.py",
        "if self.before is None or _exists(Path(self.where)) or not _exists(self.before):",
        "if self.where:",
    ),
    Mutant(
        "an answer stands for another number of rows per person",
        "T18 T27",
        "ledgers",
        "release/pipeline.py",
        'question |= {"person": schema.person, "rows_per_person": schema.rows_per_person}',
        'question |= {"person": schema.person}',
    ),
    Mutant(
        "an answer stands for the other relation",
        "T13 T27",
        "ledgers",
        "release/pipeline.py",
        '        "neighbors": schema.neighbors,\n',
        "",
    ),
    Mutant(
        "an answer stands for another version of the data",
        "T27",
        "ledgers",
        "release/pipeline.py",
        "    if schema.version is not None:\n",
        "    if schema.version == schema.name:\n",
    ),
    Mutant(
        "an answer stands for other bounds",
        "T9 T27",
        "ledgers",
        "release/pipeline.py",
        '"columns": {name: schema.columns[name].describe() for name in names},',
        '"columns": {name: schema.columns[name].kind for name in names},',
    ),
    Mutant(
        "the same keys at another δ cost nothing",
        "T11 T27",
        "ledgers",
        "ledger/chain.py",
        'sha256(f"{epsilon} {delta} {question}")',
        'sha256(f"{epsilon} {question}")',
    ),
    Mutant(
        "keys cost no δ",
        "T11 T25",
        "ledgers",
        "release/pipeline.py",
        "        entry = ledger.charge(question, epsilon, delta, analyst)\n",
        "        entry = ledger.charge(question, epsilon, analyst=analyst)\n",
    ),
    Mutant(
        "a release does not count against the analyst's cap",
        "T25",
        "ledgers",
        "release/pipeline.py",
        "        entry = ledger.charge(question, epsilon, delta, analyst)\n",
        "        entry = ledger.charge(question, epsilon, delta)\n",
    ),
    Mutant(
        "noise for tests is not labelled",
        "T21",
        "ledgers",
        "release/pipeline.py",
        "    if not entropy.private:\n",
        "    if entropy.private is None:\n",
    ),
    # --- worlds drawn at random ---
    Mutant(
        "a total under change_one forgets that a row can go away",
        "T13",
        "worlds",
        "measure/totals.py",
        "(max(self.grid.high, 0) - min(self.grid.low, 0))",
        "(self.grid.high - self.grid.low)",
    ),
    Mutant(
        "the variance of a table of public size moves by half of what it can",
        "T13",
        "sensitivities",
        "measure/public_n.py",
        "max(setting.rows - 1, 1)",
        "max(setting.rows // 2, 1)",
    ),
    Mutant(
        "the depth of many quantiles is rounded down",
        "T13",
        "laws",
        "measure/selection.py",
        "inner.bit_length() +",
        "(2 if inner == 4 else inner.bit_length()) +",
    ),
    Mutant(
        "a row always weighs at least one unit",
        "T10",
        "worlds",
        "engine/write_sql.py",
        "ELSE {shared} END",
        "ELSE GREATEST({shared}, 1) END",
    ),
    Mutant(
        "a missing cell counts without the factor of the others",
        "T13",
        "worlds",
        "measure/partition.py",
        "(self.grid.steps**self.degree * (n - present),)",
        "((n - present),)",
    ),
    Mutant(
        "texts in a condition are not escaped",
        "T33",
        "worlds",
        "question/query.py",
        """    return "'" + str(value).replace("'", "''") + "'"\n\n\ndef numeral""",
        """    return "'" + str(value).replace("'", "\\\\'") + "'"\n\n\ndef numeral""",
    ),
    Mutant(
        "the rows that a condition selects are taken as public",
        "T13",
        "worlds",
        "measure/public_n.py",
        " and query.where is None and not query.by",
        " and not query.by",
    ),
    Mutant(
        "two cells without groups count as one",
        "T13",
        "worlds",
        "measure/measurement.py",
        "if not setting.query.by and len(self.names) == 1:\n            return self",
        "if not setting.query.by and len(self.names) <= 2:\n            return self",
    ),
    Mutant(
        "the log says how many rows there are",
        "T24",
        "worlds",
        "release/pipeline.py",
        "        return Tally(table.tally(plan.schema, plan.lowered, progress))\n",
        "        found = Tally(table.tally(plan.schema, plan.lowered, progress))\n"
        "        __import__('logging').getLogger('lapwing').info('%d rows', found.rows)\n"
        "        return found\n",
    ),
    Mutant(
        "a warning says that groups are empty",
        "T24",
        "worlds",
        "measure/measurement.py",
        "        groups, exactly = self.exact_cells(exact)\n        return [add(",
        "        groups, exactly = self.exact_cells(exact)\n"
        "        if len(groups) < setting.groups:\n            __import__('warnings').warn('empty groups')\n"
        "        return [add(",
    ),
    Mutant(
        "one number of noise serves all counts around quantiles",
        "T20",
        "worlds",
        "measure/selection.py",
        "            noise = draws(self.scale, groups, entropy).tolist()\n",
        "            noise = noise if 'noise' in locals() else draws(self.scale, groups, entropy).tolist()\n",
    ),
    Mutant(
        "keys are shown in the order of their exact counts",
        "T18",
        "worlds",
        "release/discover.py",
        "        self._rows = sorted(rows)\n",
        "        self._rows = sorted(rows, key=lambda row: -row[1])\n",
    ),
    Mutant(
        "large sums wrap around",
        "T6",
        "worlds",
        "measure/measurement.py",
        "        columns = [column[groups].astype(object) for column in sums]\n",
        "        columns = [column[groups] for column in sums]\n",
    ),
    Mutant(
        "the threshold is that of one key per person",
        "T18",
        "worlds",
        "release/discover.py",
        ".threshold(self.delta, self.keys_per_person)",
        ".threshold(self.delta, 1)",
    ),
    # --- doors ---
    Mutant(
        "other bins get the answer of these",
        "T27",
        "identity",
        "question/query.py",
        """f"BIN({quoted(name)}, {', '.join(map(numeral, bins[name]))})" if name in bins""",
        """f"BIN({quoted(name)})" if name in bins""",
    ),
    Mutant(
        "another split of ε gets the answer of this",
        "T27",
        "identity",
        "release/pipeline.py",
        '"split": plan.split,',
        '"split": {name: "" for name in plan.split},',
    ),
    Mutant(
        "conditions lose their brackets in the ledger",
        "T27",
        "identity",
        "question/query.py",
        'return f"({part})" if isinstance(part, All | Some) else str(part)',
        "return str(part)",
    ),
    Mutant(
        "AND inside OR is joined to it",
        "T27",
        "identity",
        "question/query.py",
        "for each in part.parts if isinstance(part, kind) else (part,):",
        "for each in part.parts if isinstance(part, All | Some) else (part,):",
    ),
    Mutant(
        "a repeated question in another order swaps its sums",
        "T27",
        "identity",
        "measure/kinds.py",
        "in sorted(kinds_by_target.items(), key=lambda each: str(each[0])):",
        "in kinds_by_target.items():",
    ),
    Mutant(
        "only the first keys of a long list are part of the question",
        "T27",
        "identity",
        "question/schema.py",
        "json.dumps(listed).encode()",
        "json.dumps(listed[:50]).encode()",
    ),
    Mutant(
        "a label is part of the question",
        "T27",
        "identity",
        "question/schema.py",
        '            declaration["other"] = self.other\n',
        '            declaration["other"] = self.other\n'
        "        if self.labels is not None:\n"
        '            declaration["labels"] = list(self.labels)\n',
    ),
    Mutant(
        "declared bins, written out, are another question",
        "T27",
        "identity",
        "question/sql.py",
        'if not recorded and asked[0].kind != "cdf":',
        "if False:",
    ),
    Mutant(
        "a value that cannot occur is asked, and charged",
        "T27",
        "identity",
        "question/literals.py",
        "        if equal and value not in set(keys):\n",
        "        if equal and value not in set(keys) and len(keys) > 5000:\n",
    ),
    Mutant(
        "labels are shown beside other keys",
        "T36",
        "coverage",
        "release/columns.py",
        "KeyColumn(label, at, column.group_labels, is_label=True)",
        "KeyColumn(label, at, column.group_labels[::-1], is_label=True)",
    ),
    Mutant(
        "keys under another condition cost nothing",
        "T11 T27",
        "identity",
        "release/discover.py",
        'where = "" if self.where is None else f" WHERE {self.where}"',
        'where = ""',
    ),
    Mutant(
        "declare forgets that the number of rows is private",
        "T13",
        "doors",
        "source.py",
        "make_schema(schema.name, *described, every_row_counts=counts, file=schema.file)",
        "make_schema(schema.name, *described, file=schema.file)",
    ),
    Mutant(
        "a source file has another budget in every working directory",
        "T26",
        "doors",
        "source.py",
        "opened._place = beside(file.parent, opened.name,",
        "opened._place = beside(Path(), opened.name,",
    ),
    Mutant(
        "the command release drops the analyst",
        "T25",
        "doors",
        "cli/table.py",
        "            analyst=analyst,\n            confidence=confidence,\n            intervals",
        "            confidence=confidence,\n            intervals",
    ),
    Mutant(
        "who loses a race shows noise of its own",
        "T25 T20",
        "doors",
        "release/pipeline.py",
        "        answer = _unseen(lambda: ledger.record(entry, noisy()))\n",
        "        answer = noisy()\n        ledger.record(entry, answer)\n",
    ),
    Mutant(
        "a source may say a larger total than its ledger has",
        "T26",
        "doors",
        "source.py",
        "if self.epsilon is not None and opened.total != self.epsilon:",
        "if self.epsilon is not None and opened.total > self.epsilon:",
    ),
    # --- randomness and honesty: written bits, the system's bytes, releases without noise ---
    Mutant(
        "keys of streams have 32 bits",
        "T21",
        "sampler",
        "noise/entropy.py",
        "return Keystream(os.urandom(32))",
        "return Keystream(os.urandom(4) * 8)",
    ),
    Mutant(
        "a fast generator takes the place of the cipher",
        "T21",
        "sampler",
        "noise/entropy.py",
        "        self._cipher.update_into(_ZEROS[: len(part)] if len(part) < len(_ZEROS) else _ZEROS, part)\n",
        "        part[:] = np.random.default_rng(id(self)).bytes(len(part))\n",
    ),
    Mutant(
        "single draws come from Python's generator",
        "T21",
        "sampler",
        "noise/entropy.py",
        "return int.from_bytes(os.urandom(count // 8))",
        'return int(__import__("random").getrandbits(count))',
    ),
    Mutant(
        "all counts of a quantile have one noise",
        "T20",
        "sampler",
        "measure/selection.py",
        "            noise = draws(self.scale, groups, entropy).tolist()\n",
        '            noise = locals().get("noise") or draws(self.scale, groups, entropy).tolist()\n',
    ),
    Mutant(
        "zero is not halved in arrays of large noise",
        "T1",
        "sampler",
        "noise/sampler.py",
        "        if not kept or not (high or low or uniform(2, entropy=entropy)):\n",
        "        if not kept:\n",
    ),
    Mutant(
        "zero is not halved in single draws of large noise",
        "T1",
        "sampler",
        "noise/sampler.py",
        "        if kept and (high or low or uniform(2, entropy=entropy)):\n",
        "        if kept:\n",
    ),
    Mutant(
        "the low part of large noise is always kept",
        "T1",
        "sampler",
        "noise/sampler.py",
        "        kept = second[i] != -1 or _happens(_ONES, 16, low / law.scale, entropy)\n",
        "        kept = True\n",
    ),
    Mutant(
        "the grid of floats does not count their rounding",
        "T1 T2",
        "sampler",
        "noise/mechanism.py",
        "        scale = (sensitivity // _power_of_two(exponent) + cells) / epsilon\n",
        "        scale = (sensitivity // _power_of_two(exponent)) / epsilon\n",
    ),
    Mutant(
        "ties of a race go to the first run",
        "T1",
        "sampler",
        "noise/sampler.py",
        "    if len(front) > 1:\n",
        "    if len(front) > 2:\n",
    ),
    Mutant(
        "the catalogue's variance takes every table for one of two rows",
        "T9",
        "sampler",
        "sensitivity.py",
        "    return (high - low) ** 2 * Fraction(n - 1, n * n)\n",
        "    return (high - low) ** 2 * Fraction(n // 2, n * n)\n",
    ),
    Mutant(
        "a missing cell counts without its factor",
        "T34",
        "coverage",
        "measure/partition.py",
        "        left = (self.grid.steps**self.degree * (n - present),) if self.missing else ()\n",
        "        left = ((n - present),) if self.missing else ()\n",
    ),
    Mutant(
        "a wanted error may be exceeded twice",
        "T34",
        "coverage",
        "plan/planning.py",
        "    return all(plan.margin(statistic, plan.confidence) <= target for statistic, target in wanted)\n",
        "    return all(plan.margin(statistic, plan.confidence) <= 2 * target for statistic, target in wanted)\n",
    ),
    Mutant(
        "a check shows shares instead of words",
        "T24",
        "canary",
        "checking.py",
        "    return WORDS[1 + sum(above)]\n",
        '    return f"{100 * part / whole:.1f} %" if above else ""\n',
    ),
    Mutant(
        "a check makes a ledger",
        "T24",
        "canary",
        "checking.py",
        "    return _checked(source.schema, source._table, progress)\n",
        "    return _checked(source.ledger and source.schema, source._table, progress)\n",
    ),
    Mutant(
        "the people of rows_per_person are not doubled for change_one",
        "T13",
        "worlds",
        "release/rows_per_person.py",
        '        return 1 if self.schema.neighbors == "add_remove" else 2\n',
        "        return 1\n",
    ),
    Mutant(
        "the search for rows_per_person reads what is declared",
        "T18",
        "worlds",
        "engine/row_counts.py",
        '        "people AS (SELECT COUNT(*) AS c FROM kept GROUP BY person),",\n',
        '        f"people AS (SELECT LEAST(COUNT(*), {schema.rows_per_person or 1}) AS c FROM kept "\n'
        '        "GROUP BY person),",\n',
    ),
    Mutant(
        "rows per person of other rows are the same question",
        "T27",
        "identity",
        "release/rows_per_person.py",
        '        where = "" if self.where is None else f" WHERE {self.where}"\n',
        '        where = ""\n',
    ),
    Mutant(
        "empty bins of private bounds are occupied by noise",
        "T34",
        "coverage",
        "release/bounds.py",
        "    return DiscreteLaplace(plan.scale(part)).simultaneous_margin(plan.groups, NINETY_FIVE)\n",
        "    return DiscreteLaplace(plan.scale(part)).margin(NINETY_FIVE)\n",
    ),
    Mutant(
        "bars of sums of several cells miss twice as often",
        "T34",
        "coverage",
        "noise/intervals.py",
        "    limit = exact.as_decimal(beyond, context)\n",
        "    limit = exact.as_decimal(2 * beyond, context)\n",
    ),
    Mutant(
        "bars for all statistics at once hold for one",
        "T34",
        "coverage",
        "plan/plan.py",
        "        return 1 - (1 - confidence) / len(self.query.statistics), self.groups\n",
        "        return confidence, self.groups\n",
    ),
    Mutant(
        "the number of people needed is rounded down",
        "T34",
        "coverage",
        "noise/intervals.py",
        "    return math.isqrt(max(math.ceil(square) - 1, 0)) + 1\n",
        "    return max(math.isqrt(max(math.ceil(square) - 1, 0)), 1)\n",
    ),
    # --- failures ---
    Mutant(
        "an answer that could not be recorded is shown",
        "T26 T27",
        "failures",
        "release/pipeline.py",
        "        answer = _unseen(lambda: ledger.record(entry, noisy()))\n",
        "        answer = noisy()\n"
        "        try:\n"
        "            answer = ledger.record(entry, answer)\n"
        "        except LedgerError:\n"
        "            pass\n",
    ),
    Mutant(
        "an error shows the noisy integers that were not recorded",
        "T27",
        "failures",
        "release/pipeline.py",
        "        answer = _unseen(lambda: ledger.record(entry, noisy()))\n",
        "        answer = ledger.record(entry, noisy())\n",
    ),
    Mutant(
        "an interrupt shows the exact integers",
        "T24",
        "failures",
        "engine/table.py",
        "        except KeyboardInterrupt:\n            failure = KeyboardInterrupt()\n",
        "        except KeyboardInterrupt:\n            raise\n",
    ),
    Mutant(
        "noise is added outside the place where errors lose their text",
        "T24",
        "failures",
        "release/pipeline.py",
        '        return table.guarded("failed while noise was added", COMPLETE, '
        "lambda: _noisy(plan, tally(), entropy, progress))\n",
        "        return _noisy(plan, tally(), entropy, progress)\n",
    ),
    Mutant(
        "a charge is not synced to the disk",
        "T26",
        "failures",
        "ledger/store.py",
        'connection.execute("PRAGMA synchronous=EXTRA")',
        'connection.execute("PRAGMA synchronous=NORMAL")',
    ),
    Mutant(
        "a charge reads what is left before it locks the file",
        "T25",
        "failures",
        "ledger/store.py",
        'connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")',
        'connection.exec_driver_sql("BEGIN")',
    ),
    Mutant(
        "an analyst is held to the own cap, but not to the total",
        "T25",
        "failures",
        "ledger/ledger.py",
        "        left, total, who = min(limits)\n",
        "        left, total, who = limits[-1]\n",
    ),
    Mutant(
        "δ is not limited for analysts",
        "T25",
        "failures",
        "ledger/ledger.py",
        "        if amount_delta > left_delta:\n",
        "        if amount_delta > left_delta and mine is None:\n",
    ),
    Mutant(
        "who is second to record an answer shows another one",
        "T25 T27",
        "failures",
        "ledger/ledger.py",
        "            if charge.answered:\n                return charge.answer\n",
        "            if charge.answered:\n                return json.loads(text)\n",
    ),
    Mutant(
        "an edited answer is shown until the ledger is verified",
        "T27",
        "failures",
        "ledger/ledger.py",
        '        if text is None or sha256(text) != self._sound(answers[0])["answer"]:\n',
        "        if text is None:\n",
    ),
    Mutant(
        "an answer that an edited index hides is given again",
        "T27",
        "failures",
        "ledger/ledger.py",
        "            if hidden:\n",
        "            if hidden and not row:\n",
    ),
    Mutant(
        "a ledger that fails once remembers a charge that was undone",
        "T26",
        "failures",
        "ledger/ledger.py",
        "            yield turn\n        self._remember(turn.last)\n",
        "            try:\n                yield turn\n"
        "            finally:\n                self._remember(turn.last)\n",
    ),
    Mutant(
        "a quantile by groups is charged as if a person stayed in one",
        "T35",
        "laws",
        "measure/selection.py",
        "if alone and not self.grouped else 2 * widest",
        "if alone else 2 * widest",
    ),
    Mutant(
        "values at a border are in the bin below, if there are many bins",
        "T32",
        "worlds",
        "engine/write_sql.py",
        'return f"CASE WHEN {cell} < {to.double(edges[middle])} THEN {below} ELSE {above} END"',
        'return f"CASE WHEN {cell} <= {to.double(edges[middle])} THEN {below} ELSE {above} END"',
    ),
    Mutant(
        "the order of a quantile is accepted and ignored",
        "T43",
        "identity",
        "question/sql.py",
        'not isinstance(order[0], exp.Ordered) or order[0].args.get("desc"):',
        "not isinstance(order[0], exp.Ordered):",
    ),
    Mutant(
        "every version has a ledger of its own",
        "T46",
        "doors",
        "source.py",
        "default(self._table.folder, name) if ledger is None",
        'default(self._table.folder, f"{name}{version or str()}") if ledger is None',
    ),
    Mutant(
        "the command that verifies a ledger forgets the head it was given",
        "T26",
        "doors",
        "cli/ledger.py",
        "count, last = opened.verify(head), opened.head",
        "count, last = opened.verify(), opened.head",
    ),
    Mutant(
        "the collation of a DuckDB file decides which texts are the same",
        "T18",
        "reading",
        "engine/duckdb_files.py",
        """return f'{quoted(field.name)} COLLATE "binary"' if field.type == "VARCHAR" else quoted(field.name)""",
        "return quoted(field.name)",
    ),
    Mutant(
        "a byte order mark is ignored in the first row alone",
        "T50",
        "reading",
        "engine/records.py",
        "return stream if form.names is None else Unmarked(stream)",
        "return stream",
    ),
    Mutant(
        "a check does not tell that records were left out",
        "T50",
        "reading",
        "engine/records.py",
        'left_out += part.number - lines.count(b"\\n") - written.count(b"\\n")',
        "left_out += 0",
    ),
)


def flagged(mutant: Mutant | None, check: str) -> tuple[bool, str]:
    """Run one check on a build, with a fault or without; return whether it is flagged, and what was found."""
    with tempfile.TemporaryDirectory(prefix="lapwing-mutant-") as folder:
        build(Path(folder), *(() if mutant is None else (mutant.file, mutant.broken().encode())))
        status, output, errors = ran([sys.executable, "-m", "lapwing", *audit_words(check)], folder, folder, 300)
    found = failed_findings(output)
    if found is None:
        return False, f"the audit did not run: {errors[-2000:]}"
    return status == 1 and bool(found), found[0] if found else "nothing"


def build(folder: Path, file: str | None = None, text: bytes = b"") -> None:
    """Copy the package into a folder, with one of its files replaced; the others are not compiled again."""
    copy = folder / "lapwing"
    shutil.copytree(PACKAGE, copy)
    if file is not None:
        (copy / file).write_bytes(text)
        for compiled in (copy / file).parent.glob(f"__pycache__/{Path(file).stem}.*"):
            compiled.unlink()


def audit_words(check: str) -> list[str]:
    """Return the words after `lapwing` that run one check up to the first finding that fails."""
    return ["audit", "--only", check, "--stop", "--format", "json"]


def failed_findings(output: str) -> list[str] | None:
    """Return the findings that fail in the output of an audit, None if it is not one."""
    try:
        findings = json.loads(output)["checks"][0]["findings"]
        return [f"{each['what']}: {each['told']}" for each in findings if not each["passed"]]
    except (ValueError, LookupError):
        return None


def ran(words: list[str], package: str | Path, folder: str | Path, limit: float) -> tuple[int | None, str, str]:
    """Run a command in a folder, with the Lapwing of another one; return its status, output and errors.

    After ``limit`` seconds it is ended, with the processes that it started, and its status is None.
    """
    environment = {**os.environ, "PYTHONPATH": str(package), "HYPOTHESIS_STORAGE_DIRECTORY": f"{package}/hypothesis"}
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            words, cwd=folder, env=environment, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
        )  # fmt: skip
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = None
        output.seek(0)
        errors.seek(0)
        return status, output.read(), errors.read()


@click.command()
@click.option("--only", metavar="TEXT", help="Only the mutants whose fault has this text in it.")
def main(only: str | None) -> None:
    """Run the audit on every broken build, and on the build as it is."""
    chosen = [each for each in MUTANTS if only is None or only in each.fault]
    checks = sorted({each.check for each in chosen})
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        sound = dict(zip(checks, pool.map(lambda check: flagged(None, check), checks), strict=True))
        results = pool.map(lambda each: flagged(each, each.check), chosen)
        caught = 0
        for mutant, (seen, told) in zip(chosen, results, strict=True):
            caught += seen
            click.echo(f"{'flagged' if seen else 'MISSED '}  {mutant.traps:8} {mutant.fault}")
            click.echo(f"         {mutant.check}: {told[:180]}")
    alarms = [f"{check}: {told}" for check, (seen, told) in sound.items() if seen]
    for each in alarms:
        click.echo(f"FALSE ALARM on the build as it is: {each}")
    click.echo(f"Mutation score: {caught} of {len(chosen)} ({caught / len(chosen):.0%}), {len(alarms)} false alarms")
    sys.exit(0 if caught == len(chosen) and not alarms else 1)


if __name__ == "__main__":
    main()
