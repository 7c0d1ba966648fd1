"""Deliberately broken builds, each of which the audit must flag: ``make mutants`` prints the score, which stays 100 %.

A mutant is a copy of the package with one piece of text replaced, which must be there just once: when the code changes,
its mutant has to change too.  It counts as flagged when `lapwing audit --only CHECK/PART` ends with a finding that
fails; this part of the check is the one that is meant to see the fault.  Worlds are drawn from the number on that a
mutant names.  Where a fault is not seen, ``--whole`` runs the whole check: its finding says which part sees it.

``--part 1/4`` runs a quarter of them, which the commit chooses: the four parts of one commit are all mutants, and over
many commits each mutant is run.  The intact build is then run too, through the same parts of the checks.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import monotonic

import click

PACKAGE = Path(__file__).parent.parent / "src" / "lapwing"


@dataclass(frozen=True)
class Mutant:
    """A fault: the traps it stands for, the check and part that must see it, the file, and the text that is replaced.

    ``seed`` is the number of the first world, for faults that worlds must see.
    """

    fault: str
    traps: str
    check: str
    file: str
    old: str
    new: str
    seed: int = 0

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
        "bound/counts",
        "measure/measurement.py",
        "        return self.sensitivity(setting) / setting.epsilon\n",
        "        return self.sensitivity(setting) / setting.epsilon * Fraction(19, 20)\n",
    ),
    Mutant(
        "randomized response draws flips for the last axis of an array only",
        "T13",
        "sampler/added",
        "noise/mechanism.py",
        "discrete_laplace(1 / budget, truth.shape, entropy=entropy)",
        "discrete_laplace(1 / budget, truth.shape[-1:], entropy=entropy)",
    ),
    Mutant(
        "the missing cell of a categorical column is read as the last category",
        "T19",
        "reading/blank",
        "engine/frames.py",
        "    renamed = np.array([*(-1 if text is None else places[text] for text in texts), -1], dtype=np.int64)",
        "    renamed = np.array([-1 if text is None else places[text] for text in texts], dtype=np.int64)",
    ),
    Mutant(
        "less noise is added than the plan declares",
        "T36",
        "laws/noise",
        "measure/measurement.py",
        "        scale, length = self.scale(setting), self.length(setting.groups)\n",
        "        scale, length = self.scale(setting) * 99 / 100, self.length(setting.groups)\n",
    ),
    Mutant(
        "the law of the sampler is a little off",
        "T1",
        "sampler/laws",
        "noise/sampler.py",
        "math.ldexp(float(context.add(Decimal(1), decay)), -64)",
        "math.ldexp(float(context.add(Decimal(1), decay)), -64) * 1.001",
    ),
    Mutant(
        "the tails of the noise are cut",
        "T1",
        "sampler/tails",
        "noise/sampler.py",
        '                np.copyto(part, scratch[1], casting="unsafe")\n',
        '                np.copyto(part, np.clip(scratch[1], -16 * law.size, 16 * law.size), casting="unsafe")\n',
    ),
    Mutant(
        "floats get noise off the grid",
        "T1 T2",
        "sampler/floats",
        "noise/mechanism.py",
        "return math.ldexp(float(index + discrete_laplace(self.scale, entropy=entropy)), self.exponent)",
        "return value + math.ldexp(float(discrete_laplace(self.scale, entropy=entropy)), self.exponent)",
    ),
    Mutant(
        "NaN goes through the bare mechanism",
        "T7 T8",
        "sampler/refused",
        "noise/mechanism.py",
        "    if not math.isfinite(value):\n",
        "    if math.isinf(value):\n",
    ),
    Mutant(
        "one array of noise serves all cells of a measurement",
        "T20",
        "laws/noise",
        "measure/measurement.py",
        "noise = [draws(scale, length, entropy, progress) for _ in self.names]",
        "noise = [draws(scale, length, entropy, progress)] * len(self.names)",
    ),
    Mutant(
        "one number of noise serves all groups",
        "T20",
        "laws/noise",
        "measure/measurement.py",
        "noise = [draws(scale, length, entropy, progress) for _ in self.names]",
        "noise = [np.repeat(draws(scale, 1, entropy), length) for _ in self.names]",
    ),
    Mutant(
        "the key of the noise is always the same",
        "T21 T22",
        "sampler/fresh",
        "noise/entropy.py",
        "return Keystream(os.urandom(32))",
        "return Keystream(bytes(32))",
    ),
    Mutant(
        "the time of a draw grows with the noise",
        "T23",
        "timing/draws",
        "noise/sampler.py",
        "    size = _decide_fast(bits, law)\n    if law.shift:",
        "    size = _decide_fast(bits, law)\n    for _ in range(int(size or 0)):\n        pass\n    if law.shift:",
    ),
    Mutant(
        "the last bits of large noise are 0",
        "T1 T2",
        "sampler/low_bits",
        "noise/sampler.py",
        "    out |= second & ((1 << law.shift) - 1)\n",
        "",
    ),
    Mutant(
        "the last bits of single draws of large noise are 0",
        "T1 T2",
        "sampler/low_bits",
        "noise/sampler.py",
        "low, first = uniform(1 << law.shift, entropy=entropy), entropy.bits(16)",
        "low, first = 0, entropy.bits(16)",
    ),
    Mutant(
        "every block of an array has the same noise",
        "T20",
        "sampler/fresh",
        "noise/entropy.py",
        "        view = words.view(np.uint8).data\n",
        "        self._cipher.reset_nonce(bytes(16))\n        view = words.view(np.uint8).data\n",
    ),
    Mutant(
        "the bare mechanism adds less noise to integers",
        "T13",
        "sampler/mechanisms",
        "noise/mechanism.py",
        "        return self.sensitivity / self.epsilon\n",
        "        return self.sensitivity / self.epsilon * Fraction(9, 10)\n",
    ),
    Mutant(
        "randomized response flips too few bits",
        "T1",
        "sampler/mechanisms",
        "noise/mechanism.py",
        "discrete_laplace(1 / budget, truth.shape, entropy=entropy) > 0",
        "discrete_laplace(1 / budget, truth.shape, entropy=entropy) > 1",
    ),
    # --- before the noise ---
    Mutant(
        "values above the bound are not clamped",
        "T14",
        "sensitivities/neighbors",
        "engine/cells.py",
        "LEAST(GREATEST({cell}, {low}), {high})",
        "LEAST(GREATEST({cell}, {low}), {high} * 1.5)",
    ),
    Mutant(
        "NaN and infinity count as numbers",
        "T7 T8",
        "sensitivities/rules",
        "engine/cells.py",
        "CASE WHEN {to.finite.format(x=cell)} THEN CAST({index}",
        "CASE WHEN {cell} IS NOT NULL THEN CAST({index}",
    ),
    Mutant(
        "sums are made of doubles",
        "T3 T4",
        "sensitivities/crowd",
        "engine/write_sql.py",
        'return _Sum(name, (f"SUM({value})",))',
        'return _Sum(name, (f"CAST(SUM(CAST({value} AS DOUBLE)) AS HUGEINT)",))',
    ),
    Mutant(
        "sums wrap around",
        "T5 T6",
        "sensitivities/neighbors",
        "engine/write_sql.py",
        'return _Sum(name, (f"SUM({value})",))',
        'return _Sum(name, (f"CAST(SUM({value}) % 65536 AS BIGINT)",))',
    ),
    Mutant(
        "people are not bounded",
        "T18",
        "sensitivities/neighbors",
        "engine/write_sql.py",
        "shared = to.divided.format(a=k * full, b=rows)",
        "shared = full",
    ),
    Mutant(
        "a person is bounded before WHERE",
        "T18",
        "sensitivities/rules",
        "engine/write_sql.py",
        '"  FROM bounded GROUP BY person),"',
        '"  FROM cleaned GROUP BY person),"',
    ),
    Mutant(
        "a person is bounded in each group",
        "T35",
        "sensitivities/neighbors",
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
        "sensitivities/neighbors",
        "engine/write_sql.py",
        'bounded = f"DISTINCT {bounded}"',
        'bounded = f"{bounded}"',
    ),
    Mutant(
        "a person in several groups moves the number of people by one",
        "T35",
        "sensitivities/neighbors",
        "measure/people.py",
        "return min(counted_in, setting.groups) * self.row_weight(schema)",
        "return self.row_weight(schema)",
    ),
    Mutant(
        "the number of people is not doubled for change_one",
        "T15",
        "sensitivities/neighbors",
        "measure/people.py",
        'schema.most_rows * (1 if schema.neighbors == "add_remove" else 2)',
        "schema.most_rows",
    ),
    Mutant(
        "a person has any number of keys",
        "T35",
        "sensitivities/keys",
        "engine/keys.py",
        "WHERE place <= {keys_per_person} GROUP BY key",
        "WHERE place <= {9 * keys_per_person} GROUP BY key",
    ),
    Mutant(
        "squares are not bounded anew",
        "T15",
        "sensitivities/neighbors",
        "measure/partition.py",
        "return self.fine * int(self.grid.steps**self.degree) if self.degree else 1",
        "return self.fine * int(self.grid.steps) if self.degree else 1",
    ),
    Mutant(
        "a histogram moves by 1 when one person changes",
        "T13",
        "sensitivities/neighbors",
        "measure/measurement.py",
        "        return 2 * schema.person_l1 * self.mass\n",
        "        return schema.person_l1 * self.mass\n",
    ),
    Mutant(
        "a sum moves by U - L when one person comes",
        "T13",
        "sensitivities/neighbors",
        "measure/totals.py",
        "        return max(abs(self.grid.low), abs(self.grid.high))\n",
        "        return self.grid.high - self.grid.low - 1\n",
    ),
    Mutant(
        "every measurement spends all of ε",
        "T15 T29",
        "laws/shares",
        "plan/planning.py",
        "parts = tuple(Part(each, total * share / whole) for each, share in zip(measured, shares, strict=True))",
        "parts = tuple(Part(each, total) for each, share in zip(measured, shares, strict=True))",
    ),
    Mutant(
        "a tree of counts moves as if it had one level",
        "T13 T15",
        "sensitivities/trees",
        "measure/tree.py",
        "        return self.levels\n",
        "        return 1\n",
    ),
    Mutant(
        "people whose names differ by case are one",
        "T18",
        "sensitivities/people",
        "engine/write_sql.py",
        "{'person' if to.prepared else",
        "{'LOWER(CAST(person AS VARCHAR))' if to.prepared else",
    ),
    Mutant(
        "people are told apart by 53 bits",
        "T5 T18",
        "sensitivities/people",
        "engine/write_sql.py",
        "{'person' if to.prepared else",
        "{'COALESCE(CAST(TRY_CAST(person AS DOUBLE) AS VARCHAR), CAST(person AS VARCHAR))' if to.prepared else",
    ),
    Mutant(
        "in a data frame, 1 and its text are one person",
        "T18",
        "sensitivities/forms",
        "engine/frames.py",
        'return None if number is None else f"{MARK}number {number}/1"',
        "return None if number is None else str(number)",
    ),
    Mutant(
        "a relation keeps people without case",
        "T18",
        "sensitivities/forms",
        "engine/frame.py",
        'column = f"#{at + 1}" if to is None',
        'column = f"lower(#{at + 1})" if kind == "VARCHAR" else f"#{at + 1}" if to is None',
    ),
    Mutant(
        "discover takes rows that WHERE leaves out",
        "T18",
        "sensitivities/keys",
        "engine/write_sql.py",
        "FROM {cells.table}{_where(where, cells)}),",
        "FROM {cells.table}{_where(None, cells)}),",
    ),
    Mutant(
        "the number of lines of a CSV file is taken as public",
        "T12",
        "sensitivities/lines",
        "engine/connect.py",
        "        return table.stored\n",
        "        return table.stored or table.is_csv\n",
    ),
    Mutant(
        "the catalogue has a mean that moves too little",
        "T13",
        "sensitivities/catalogue",
        "sensitivity.py",
        "return (high - low) / _rows(n, neighbors)",
        "return (high - low) / (_rows(n, neighbors) + 1)",
    ),
    Mutant(
        "the catalogue has one sum for both relations",
        "T13",
        "sensitivities/catalogue",
        "sensitivity.py",
        "return high - low if _changes_one(neighbors) else max(abs(low), abs(high))",
        "return max(abs(low), abs(high))",
    ),
    Mutant(
        "weights are not divided by their sum",
        "T29",
        "laws/shares",
        "plan/planning.py",
        "whole = sum(shares, Fraction(0))",
        "whole = Fraction(len(shares))",
    ),
    # --- reading ---
    Mutant(
        "truth values among objects are no numbers",
        "T7 T8",
        "reading/frames",
        "engine/frames.py",
        "    v = float(value) if isinstance(value, int | float | Decimal | Fraction) else math.nan\n",
        "    known = isinstance(value, int | float | Decimal | Fraction) and not isinstance(value, bool)\n"
        "    v = float(value) if known else math.nan\n",
    ),
    Mutant(
        "numbers among objects have .0 in their text",
        "T5 T6",
        "reading/frames",
        "engine/frames.py",
        "return str(int(v)) if v is not None and v.is_integer()",
        "return str(v) if v is not None and v.is_integer()",
    ),
    Mutant(
        "whole floats have .0 in their text",
        "T5 T6",
        "reading/frames",
        "engine/reading.py",
        "THEN CAST(CAST({v} AS BIGINT) AS VARCHAR) END",
        "THEN CAST({{x}} AS VARCHAR) END",
    ),
    Mutant(
        "numbers from 2^53 on have a text, rounded or not",
        "T5 T6",
        "reading/frames",
        "engine/reading.py",
        "CASE WHEN abs({v}) < {EXACT} AND",
        "CASE WHEN abs({v}) < 1e18 AND",
    ),
    Mutant(
        "a column of floats of 32 bits is read by its shortest texts",
        "T5 T6",
        "reading/frames",
        "engine/reading.py",
        "    _SMALL: _read_number(_DOUBLE),\n",
        '    "FLOAT": _read_number(_NEAREST),\n    _SMALL: _read_number(_DOUBLE),\n',
    ),
    Mutant(
        "floats of 32 bits are read by their shortest text among objects",
        "T5 T6",
        "reading/frames",
        "engine/frames.py",
        "    return value.item() if isinstance(value, np.generic) else None\n",
        "    if isinstance(value, np.float32):\n"
        "        return float(str(value))\n"
        "    return value.item() if isinstance(value, np.generic) else None\n",
    ),
    Mutant(
        "a column of moments is read in its time zone",
        "T38",
        "reading/frames",
        "engine/frames.py",
        'column.dt.tz_convert("UTC").dt.tz_localize(None)',
        "column.dt.tz_localize(None)",
    ),
    Mutant(
        "moments among objects are read in their time zone",
        "T38",
        "reading/frames",
        "engine/frames.py",
        '(value if value.tzinfo is None else value.tz_convert("UTC")).date()',
        "value.date()",
    ),
    Mutant(
        "numbers among objects are no truth values",
        "T7 T8",
        "reading/frames",
        "engine/frames.py",
        "return None if v is None else str(v != 0).lower()",
        "return str(v != 0).lower() if isinstance(value, bool | np.bool_) else None",
    ),
    Mutant(
        "numbers among objects are read by what all of them are",
        "T5 T6",
        "reading/frames",
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
        "reading/frames",
        "engine/frames.py",
        '_forward(_seconds(values) if values.dtype == "datetime64[ns]" else values)',
        "_forward(values)",
    ),
    Mutant(
        "floats hide among people that are objects",
        "T5 T18",
        "reading/types",
        "engine/frame.py",
        "if any(each.kind is None and frames.has_large_floats(self._frame, each.place) for each in wanted):\n",
        "if False:\n",
    ),
    Mutant(
        "a frame that runs backward is left to the engine",
        "T24",
        "reading/types",
        "engine/frames.py",
        "    return values if values.strides[0] > 0 else values.copy()\n",
        "    return values\n",
    ),
    Mutant(
        "objects say themselves what text they are",
        "T7 T8",
        "reading/frames",
        "engine/frames.py",
        "    str: str.__str__,\n",
        "    str: str,\n",
    ),
    Mutant(
        "categories are left to the engine",
        "T7 T8",
        "reading/frames",
        "engine/frames.py",
        "        return _categories(column.cat.remove_unused_categories(), kind), True\n",
        "        return column.array, False\n",
    ),
    Mutant(
        "a person is read as a text cell is",
        "T18",
        "reading/people",
        "engine/duckdb.py",
        "kinds = [*(schema.columns[name].kind for name in columns), None]",
        'kinds = [*(schema.columns[name].kind for name in columns), "text"]',
    ),
    Mutant(
        "floats may be people",
        "T5 T18",
        "reading/people",
        "engine/reading.py",
        '    r"DECIMAL\\(\\d+,\\d+\\)": "CASE WHEN {x} = floor({x}) THEN {x} END",\n',
        '    r"FLOAT|DOUBLE|DECIMAL\\(\\d+,\\d+\\)": "CASE WHEN {x} = floor({x}) THEN {x} END",\n',
    ),
    Mutant(
        "names are compared without case",
        "T18",
        "reading/names",
        "engine/names.py",
        "    return [known.get(name) for name in wanted]\n",
        "    loose = {folded(name): at for name, at in known.items()}\n"
        "    return [loose.get(folded(name)) for name in wanted]\n",
    ),
    Mutant(
        "of columns with one name the first is taken",
        "T18",
        "reading/names",
        "engine/names.py",
        "(times[form] > 1 or any(",
        "(any(",
    ),
    Mutant(
        "a name that DuckDB has made is taken for one of the file",
        "T18",
        "reading/names",
        "engine/names.py",
        "times[form] > 1 or any(times[stem] > 1 for stem in _stems(form))",
        "times[form] > 1",
    ),
    Mutant(
        "files of a glob may differ in types",
        "T5 T18",
        "reading/names",
        "engine/parquet.py",
        "tuple(sorted((name, whole) for name, _, whole in columns))",
        "tuple(sorted(name for name, _, whole in columns))",
    ),
    Mutant(
        "files of a glob may differ in names",
        "T18",
        "reading/names",
        "engine/parquet.py",
        "tuple(sorted((name, whole) for name, _, whole in columns)) for columns in described}) > 1:",
        "len(columns) for columns in described}) > 1:",
    ),
    Mutant(
        "in JSON lines every number is a float",
        "T5 T18",
        "reading/formats",
        "engine/json_lines.py",
        "return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)",
        "return float(digits)",
    ),
    Mutant(
        "lines of JSON that are no object count as public rows",
        "T12",
        "reading/formats",
        "engine/json_lines.py",
        "    stored = False\n",
        "    stored = True\n",
    ),
    Mutant(
        "people of an SQLite file whose texts are not UTF-8 are one",
        "T18",
        "reading/formats",
        "engine/sqlite_files.py",
        "    except UnicodeDecodeError:\n        return data\n",
        '    except UnicodeDecodeError:\n        return data.decode("utf-8", "replace")\n',
    ),
    Mutant(
        "a view of an SQLite file runs",
        "T50",
        "reading/formats",
        "engine/sqlite_files.py",
        'if kinds[part] != "table":',
        'if kinds[part] == "virtual":',
    ),
    Mutant(
        "all files of a folder have the partition of the first",
        "T18",
        "reading/formats",
        "engine/partitions.py",
        "if len(set(values)) == 1:",
        "if values:",
    ),
    Mutant(
        "a compressed file that was cut off ends early",
        "T50",
        "reading/formats",
        "engine/compressed.py",
        "        if damaged:  # outside",
        "        if damaged:\n            return 0\n        if damaged:  # outside",
    ),
    Mutant(
        "line breaks within quotes end a record",
        "T50",
        "reading/lines",
        "engine/records.py",
        "return _Signs(at, byte, ~odd if quoted else odd)",
        "return _Signs(at, byte, np.zeros_like(odd))",
    ),
    Mutant(
        "a carriage return ends a record",
        "T50",
        "reading/lines",
        "engine/records.py",
        "    passed, quoted = 0, False  # of a record",
        '    text = text.replace(b"\\r", b"\\n")\n    passed, quoted = 0, False  # of a record',
    ),
    Mutant(
        "carriage returns are dropped from cells",
        "T50",
        "reading/lines",
        "engine/records.py",
        "        strange[returns] |= data[at[returns] + 1] != _LF\n",
        "",
    ),
    Mutant(
        "a quote may stay open",
        "T50",
        "reading/lines",
        "engine/records.py",
        "    if quoted ^ bool(len(quotes) % 2):\n",
        "    if quoted and len(quotes) > 10**9:\n",
    ),
    Mutant(
        "a quote may stand within a field",
        "T50",
        "reading/lines",
        "engine/records.py",
        "        if not form.is_border[previous].all() or not line_ends.all():\n",
        "        if not previous.size and not line_ends.all():\n",
    ),
    Mutant(
        "records with line breaks in them are left out",
        "T50",
        "reading/lines",
        "engine/records.py",
        'has_odd = odd.tell() > len(b"-\\n")',
        'has_odd = odd.tell() < len(b"-\\n")',
    ),
    Mutant(
        "files with quotes are left to the engine",
        "T50",
        "reading/lines",
        "engine/records.py",
        "    if current.plain:\n",
        "    if current.names:\n",
    ),
    Mutant(
        "a file is read as UTF-8, whatever its encoding",
        "T50",
        "reading/written",
        "engine/encodings.py",
        '    if encoding in (None, "utf-8"):\n',
        '    if encoding != "utf-16":\n',
    ),
    Mutant(
        "a mark for thousands may be anywhere",
        "T38",
        "reading/written",
        "engine/reading.py",
        'whole = f"([0-9]*|[1-9][0-9]{{0,2}}({re.escape(thousands)}[0-9]{{3}})+)"',
        'whole = f"([0-9]|{re.escape(thousands)})*"',
    ),
    Mutant(
        "a person with a text for missing is someone",
        "T7",
        "reading/written",
        "engine/reading.py",
        "    if sql is None or text is None or not file.missing:\n",
        "    if sql is None or text is None or file.missing:\n",
    ),
    Mutant(
        "a code for missing is a value",
        "T7",
        "worlds",
        "engine/cells.py",
        "    if column.missing:\n        tests.append(",
        "    if column.missing and not tests:\n        tests.append(",
        seed=21,
    ),
    Mutant(
        "the digest of many keys is that of the first hundred",
        "T27",
        "identity/fields",
        "question/codes.py",
        "hashlib.sha256(json.dumps(listed).encode())",
        "hashlib.sha256(json.dumps(listed[:_MOST_LISTED]).encode())",
    ),
    Mutant(
        "codes for missing are not part of a question",
        "T27",
        "identity/fields",
        "question/schema.py",
        "        if self.missing:\n            declaration",
        "        if self.missing and self.edges:\n            declaration",
    ),
    Mutant(
        "the number of rows that a filter left is public",
        "T12",
        "reading/filtered",
        "engine/connect.py",
        "        return table.stored\n",
        "        return not table.is_csv\n",
    ),
    # --- what depends on data ---
    Mutant(
        "the number of rows is taken as public",
        "T12",
        "replay/releases",
        "release/pipeline.py",
        "    if any(each.public_rows for each in plan.measured) or plan.counts_publicly:\n",
        "    if tally.rows:\n",
    ),
    Mutant(
        "the scale depends on the number of rows",
        "T12",
        "replay/releases",
        "release/pipeline.py",
        "            part.measurement.noisy(tally.exact(plan, number), setting, entropy, progress)\n",
        "            part.measurement.noisy(tally.exact(plan, number), replace(\n"
        "                setting, epsilon=setting.epsilon / (1 + tally.rows // 2**17)), entropy, progress)\n",
    ),
    Mutant(
        "a huge value is an error",
        "T24",
        "replay/releases",
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
        "laws/noise",
        "measure/measurement.py",
        "        return [add(cell, groups, value) for cell, value in zip(noise, exactly, strict=True)]\n",
        "        return [add(cell * np.isin(np.arange(len(cell)), groups), groups, value) "
        "for cell, value in zip(noise, exactly, strict=True)]\n",
    ),
    Mutant(
        "the threshold for keys is one too low",
        "T11",
        "laws/thresholds",
        "release/discover.py",
        "if value >= plan.threshold]",
        "if value >= plan.threshold - 1]",
    ),
    Mutant(
        "the threshold forgets that a person may have several keys",
        "T11",
        "laws/thresholds",
        "release/discover.py",
        "return DiscreteLaplace(self.scale).threshold(self.delta, self.keys_per_person)",
        "return DiscreteLaplace(self.scale).threshold(self.delta)",
    ),
    Mutant(
        "ranks are taken to move half as far as they do",
        "T13",
        "laws/medians",
        "measure/selection.py",
        "widest = 2 * max(level, 1 - level) * self.person",
        "widest = max(level, 1 - level) * self.person",
    ),
    Mutant(
        "choices are 2 % surer than they may be",
        "T1",
        "laws/choices",
        "noise/sampler.py",
        "_products(np.maximum(given[part], least) - least, step))",
        "_products(np.maximum(given[part], least) - least, step * Fraction(51, 50)))",
    ),
    Mutant(
        "some of the candidates at one distance are likelier",
        "T1",
        "sampler/uniform",
        "noise/sampler.py",
        "        while (drawn := entropy.bits(whole_bytes) >> (whole_bytes - length)) >= below:\n"
        "            pass\n"
        "        return drawn\n",
        "        return entropy.bits(whole_bytes) % below\n",
    ),
    Mutant(
        "the error bars of quantiles come on top of ε",
        "T15 T29",
        "laws/choices",
        "measure/selection.py",
        "return self.epsilon * (1 - ends - _COUNTS if self.measurement.interval else 1) / self.depth",
        "return self.epsilon / self.depth",
    ),
    Mutant(
        "minimum and maximum come on top of the other quantiles",
        "T15 T29",
        "laws/choices",
        "measure/selection.py",
        "return inner.bit_length() + (min(extremes, 1) if inner else extremes)",
        "return max(inner.bit_length(), 1)",
    ),
    Mutant(
        "a changed row moves ranks as far as one that comes",
        "T13",
        "laws/choices",
        "measure/selection.py",
        "return Fraction(2 * self.person) if alone and not self.grouped else 2 * widest",
        "return widest",
    ),
    Mutant(
        "a changed row moves the counts of quantiles by 1",
        "T13",
        "laws/choices",
        "measure/selection.py",
        'return self.person * (1 if self.schema.neighbors == "add_remove" else 2)',
        "return self.person",
    ),
    Mutant(
        "weights are ignored in the reach of a weighted quantile",
        "T13",
        "laws/choices",
        "measure/selection.py",
        "widest = 2 * max(level, 1 - level) * self.person",
        "widest = 2 * max(level, 1 - level) * self.schema.person_l1",
    ),
    Mutant(
        "the counts around a weighted quantile have the noise of rows, not of weights",
        "T13",
        "laws/choices",
        "measure/selection.py",
        'return self.person * (1 if self.schema.neighbors == "add_remove" else 2)',
        'return self.schema.person_l1 * (1 if self.schema.neighbors == "add_remove" else 2)',
    ),
    Mutant(
        "a weighted quantile is chosen from rows that all weigh the same",
        "T32",
        "sensitivities/expressions",
        "engine/write_sql.py",
        'return [_parted("n", "v0", heavy[0], to) if heavy else _Sum("n", ("COUNT(*)",))]',
        'return [_Sum("n", ("COUNT(*)",))]',
    ),
    Mutant(
        "rows without a weight weigh the most in weighted quantiles",
        "T7",
        "sensitivities/expressions",
        "engine/write_sql.py",
        'return [_parted("n", "v0", heavy[0], to) if heavy',
        'return [_parted("n", f"CASE WHEN v0 = 0 THEN {heavy[0]} ELSE v0 END", heavy[0], to) if heavy',
    ),
    # --- after the noise ---
    Mutant(
        "noisy counts are clamped at 0",
        "T30",
        "coverage/empty",
        "release/pipeline.py",
        '    answer["cells"] = recorded(cells)\n',
        '    answer["cells"] = recorded([[np.maximum(cell, 0) for cell in part] for part in cells])\n',
    ),
    Mutant(
        "error bars are too narrow",
        "T31",
        "coverage/groups",
        "measure/linear.py",
        "        return float(weight * DiscreteLaplace(scale).simultaneous_margin(groups, confidence))\n",
        "        return float(weight * DiscreteLaplace(scale * 7 / 8).simultaneous_margin(groups, confidence))\n",
    ),
    Mutant(
        "error bars that should hold at once are those of single cells",
        "T33",
        "coverage/narrow",
        "plan/plan.py",
        "        return 1 - (1 - confidence) / len(self.query.statistics), self.groups\n",
        "        return confidence, 1\n",
    ),
    Mutant(
        "engine errors are passed on",
        "T24",
        "canary/python",
        "engine/table.py",
        "failure = EngineError(self.name, what, budget, self.advice(error))",
        "failure = EngineError(self.name, what, budget, str(error))",
    ),
    Mutant(
        "the lower bound is taken from the data",
        "T9",
        "replay/releases",
        "engine/cells.py",
        '        index = _steps(f"LEAST(GREATEST({cell}, {low}), {high})", low, grid, to)\n',
        '        least = f"COALESCE((SELECT MIN({cell}) FROM cleaned WHERE {cell} > {low}), {low})"\n'
        '        index = _steps(f"LEAST(GREATEST({cell}, {least}), {high})", least, grid, to)\n',
    ),
    Mutant(
        "keys come in the order of the data",
        "T10 T19",
        "sensitivities/keys",
        "release/discover.py",
        "        self._rows = sorted(rows)\n",
        "        self._rows = list(rows)\n",
    ),
    Mutant(
        "keys below the threshold are recorded",
        "T10 T24",
        "canary/python",
        "release/discover.py",
        '"counts": [value for _, value in kept]}\n',
        '"counts": [value for _, value in kept]}\n        answer["below"] = [written(key) for key, _ in noisy]\n',
    ),
    Mutant(
        "an expression is shown as it prints itself, cells of a mask in it too",
        "T24",
        "canary/python",
        "question/foreign_objects.py",
        'return pieces[int(text[1:])] if re.fullmatch(r"#\\d+", text) else None\n',
        'return pieces[int(text[1:])] if re.fullmatch(r"#\\d+", text) else text\n',
    ),
    Mutant(
        "the exact sums are shown by repr",
        "T24",
        "canary/python",
        "release/pipeline.py",
        '        return "Tally(hidden)"\n',
        '        return f"Tally({self._sums})"\n',
    ),
    # --- the ledger ---
    Mutant(
        "what the engine fails at is not charged",
        "T25",
        "ledgers/charged",
        "release/pipeline.py",
        "        entry = ledger.charge(question, epsilon, delta, analyst)\n",
        "        made = noisy()\n"
        "        noisy = lambda: made\n"
        "        entry = ledger.charge(question, epsilon, delta, analyst)\n",
    ),
    Mutant(
        "what is charged depends on a balance that was read before",
        "T25",
        "ledgers/races",
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
        "ledgers/total",
        "ledger/ledger.py",
        "        if amount > left:\n",
        "        if amount / NANO > left / NANO + 1e-9:\n",
    ),
    Mutant(
        "a float sensitivity is read by its shortest decimal alone",
        "T53",
        "refusals/declarations",
        "exact.py",
        "    value = max(_readings(asked), default=None)\n    if value is None or not _between_powers(value, -900",
        "    value = _number(asked)\n    if value is None or not _between_powers(value, -900",
    ),
    Mutant(
        "ε = 0 is accepted",
        "T16 T17",
        "ledgers/charged",
        "exact.py",
        "value is None or not 0 < value <= MAX_EPSILON or",
        "value is None or not 0 <= value <= MAX_EPSILON or",
    ),
    Mutant(
        "the same question again gets other noise",
        "T27",
        "ledgers/charged",
        "release/pipeline.py",
        "    answer = entry.answer\n"
        "    if not entry.answered:  # new, or charged before and never answered\n"
        "        own = entry.analyst == analyst  # names that others give are not those of the one who was charged\n"
        "        answer = _unseen(lambda: ledger.record(entry, noisy() if own else unnamed(noisy())))\n",
        "    answer = noisy()\n"
        "    if not entry.answered:  # new, or charged before and never answered\n"
        "        ledger.record(entry, answer)\n",
    ),
    Mutant(
        "an edited entry is not found",
        "T26",
        "ledgers/edited",
        "ledger/chain.py",
        '        if digest(row) != row["hash"]:\n',
        '        if len(digest(row)) != len(row["hash"]):\n',
    ),
    Mutant(
        "an open ledger goes on with an older copy",
        "T26",
        "ledgers/exchanged",
        "ledger/ledger.py",
        "        if not found or digest(found[0]) != seen:\n",
        "        if found is None:\n",
    ),
    Mutant(
        "an open ledger remembers a number and no hash",
        "T26",
        "ledgers/exchanged",
        "ledger/ledger.py",
        "        if not found or digest(found[0]) != seen:\n",
        "        if not found:\n",
    ),
    Mutant(
        "a new ledger is made in place of an empty file",
        "T26",
        "ledgers/made_anew",
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
        "ledgers/races",
        "ledger/store.py",
        "        os.link(made, target)\n",
        "        made.replace(target)\n",
    ),
    Mutant(
        "a ledger has its name before it is whole",
        "T25 T26",
        "failures/statements",
        "ledger/store.py",
        '        made = Path(folder) / "new.ledger"\n',
        "        made = target\n",
    ),
    Mutant(
        "a ledger that is not named is in the working directory",
        "T26",
        "ledgers/unnamed",
        "ledger/place.py",
        "    if folder is not None:\n        return beside(folder.absolute(), name, before)\n",
        "    if name:\n        return beside(Path(), name, before)\n",
    ),
    Mutant(
        "the name of a source is a path",
        "T26",
        "ledgers/unnamed",
        "ledger/place.py",
        "    if _PLAIN.fullmatch(name):\n",
        "    if name:\n",
    ),
    Mutant(
        "two names share a ledger",
        "T26",
        "ledgers/unnamed",
        "ledger/place.py",
        'return f"{start}={sha256(name.encode()).hexdigest()[:16]}.ledger"',
        'return f"{start}.ledger"',
    ),
    Mutant(
        "a ledger that is where it was kept before is left behind",
        "T26",
        "ledgers/unnamed",
        "ledger/place.py",
        "if self.before is None or _exists(Path(self.where)) or not _exists(self.before):",
        "if self.where:",
    ),
    Mutant(
        "an answer stands for another number of rows per person",
        "T18 T27",
        "ledgers/charged",
        "release/pipeline.py",
        'question |= {"person": schema.person, "rows_per_person": schema.rows_per_person}',
        'question |= {"person": schema.person}',
    ),
    Mutant(
        "an answer stands for the other relation",
        "T13 T27",
        "ledgers/charged",
        "release/pipeline.py",
        '        "neighbors": schema.neighbors,\n',
        "",
    ),
    Mutant(
        "an answer stands for another version of the data",
        "T27",
        "ledgers/charged",
        "release/pipeline.py",
        "    if schema.version is not None:\n",
        "    if schema.version == schema.name:\n",
    ),
    Mutant(
        "an answer stands for other bounds",
        "T9 T27",
        "ledgers/charged",
        "release/pipeline.py",
        '"columns": {name: schema.columns[name].describe() for name in names},',
        '"columns": {name: schema.columns[name].kind for name in names},',
    ),
    Mutant(
        "the same keys at another δ cost nothing",
        "T11 T27",
        "ledgers/charged",
        "ledger/chain.py",
        'sha256(f"{epsilon} {delta} {question}")',
        'sha256(f"{epsilon} {question}")',
    ),
    Mutant(
        "keys cost no δ",
        "T11 T25",
        "ledgers/charged",
        "release/pipeline.py",
        "        entry = ledger.charge(question, epsilon, delta, analyst)\n",
        "        entry = ledger.charge(question, epsilon, analyst=analyst)\n",
    ),
    Mutant(
        "a release does not count against the analyst's cap",
        "T25",
        "ledgers/charged",
        "release/pipeline.py",
        "        entry = ledger.charge(question, epsilon, delta, analyst)\n",
        "        entry = ledger.charge(question, epsilon, delta)\n",
    ),
    Mutant(
        "noise for tests is not labelled",
        "T21",
        "ledgers/charged",
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
        seed=111,
    ),
    Mutant(
        "the variance of a table of public size moves by half of what it can",
        "T13",
        "sensitivities/public",
        "measure/public_n.py",
        "max(setting.rows - 1, 1)",
        "max(setting.rows // 2, 1)",
    ),
    Mutant(
        "the depth of many quantiles is rounded down",
        "T13",
        "laws/choices",
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
        seed=18,
    ),
    Mutant(
        "a missing cell counts without the factor of the others",
        "T13",
        "worlds",
        "measure/partition.py",
        "(self.grid.steps**self.degree * (n - present),)",
        "((n - present),)",
        seed=10,
    ),
    Mutant(
        "texts in a condition are not escaped",
        "T33",
        "worlds",
        "question/spelling.py",
        """    return "'" + str(value).replace("'", "''") + "'"\n\n\ndef numeral""",
        """    return "'" + str(value).replace("'", "\\\\'") + "'"\n\n\ndef numeral""",
        seed=49,
    ),
    Mutant(
        "the rows that a condition selects are taken as public",
        "T13",
        "worlds",
        "measure/public_n.py",
        " and query.where is None and not query.by",
        " and not query.by",
        seed=207,
    ),
    Mutant(
        "two cells without groups count as one",
        "T13",
        "worlds",
        "measure/measurement.py",
        "if not setting.query.by and len(self.names) == 1:\n            return self",
        "if not setting.query.by and len(self.names) <= 2:\n            return self",
        seed=15,
    ),
    Mutant(
        "the log says how many rows there are",
        "T24",
        "worlds",
        "release/pipeline.py",
        "        return [Tally(table.tally(plan.schema, plan.lowered, progress))]\n",
        "        found = Tally(table.tally(plan.schema, plan.lowered, progress))\n"
        "        __import__('logging').getLogger('lapwing').info('%d rows', found.rows)\n"
        "        return [found]\n",
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
        seed=34,
    ),
    Mutant(
        "one number of noise serves all counts around quantiles",
        "T20",
        "worlds",
        "measure/selection.py",
        "            noise = draws(self.scale, groups, entropy).tolist()\n",
        "            noise = noise if 'noise' in locals() else draws(self.scale, groups, entropy).tolist()\n",
        seed=9,
    ),
    Mutant(
        "keys are shown in the order of their exact counts",
        "T18",
        "worlds",
        "release/discover.py",
        "        self._rows = sorted(rows)\n",
        "        self._rows = sorted(rows, key=lambda row: -row[1])\n",
        seed=120,
    ),
    Mutant(
        "large sums wrap around",
        "T6",
        "worlds",
        "measure/measurement.py",
        "        columns = [column[groups].astype(object) for column in sums]\n",
        "        columns = [column[groups] for column in sums]\n",
        seed=50,
    ),
    Mutant(
        "the threshold is that of one key per person",
        "T18",
        "worlds",
        "release/discover.py",
        ".threshold(self.delta, self.keys_per_person)",
        ".threshold(self.delta, 1)",
        seed=120,
    ),
    # --- doors ---
    Mutant(
        "other bins get the answer of these",
        "T27",
        "identity/fields",
        "question/query.py",
        """f"BIN({written[name]}, {', '.join(map(numeral, bins[name]))})" if name in bins""",
        """f"BIN({written[name]})" if name in bins""",
    ),
    Mutant(
        "another split of ε gets the answer of this",
        "T27",
        "identity/fields",
        "release/pipeline.py",
        '"split": plan.split,',
        '"split": {name: "" for name in plan.split},',
    ),
    Mutant(
        "conditions lose their brackets in the ledger",
        "T27",
        "identity/fields",
        "question/conditions.py",
        'return f"({part})" if isinstance(part, All | Some) else str(part)',
        "return str(part)",
    ),
    Mutant(
        "AND inside OR is joined to it",
        "T27",
        "identity/fields",
        "question/conditions.py",
        "for each in part.parts if isinstance(part, kind) else (part,):",
        "for each in part.parts if isinstance(part, All | Some) else (part,):",
    ),
    Mutant(
        "a repeated question in another order swaps its sums",
        "T27",
        "identity/words",
        "measure/kinds.py",
        "in sorted(kinds_by_target.items(), key=lambda each: str(each[0])):",
        "in kinds_by_target.items():",
    ),
    Mutant(
        "only the first keys of a long list are part of the question",
        "T27",
        "identity/fields",
        "question/codes.py",
        "json.dumps(listed).encode()",
        "json.dumps(listed[:50]).encode()",
    ),
    Mutant(
        "a label is part of the question",
        "T27",
        "identity/words",
        "question/schema.py",
        '            declaration["other"] = self.other\n',
        '            declaration["other"] = self.other\n'
        "        if self.labels is not None:\n"
        '            declaration["labels"] = list(self.labels)\n',
    ),
    Mutant(
        "declared bins, written out, are another question",
        "T27",
        "identity/words",
        "question/sql.py",
        'if not recorded and asked[0].kind != "cdf":',
        "if False:",
    ),
    Mutant(
        "a value that cannot occur is asked, and charged",
        "T27",
        "identity/conditions",
        "question/literals.py",
        "        if equal and value not in set(keys):\n",
        "        if equal and value not in set(keys) and len(keys) > 5000:\n",
    ),
    Mutant(
        "labels are shown beside other keys",
        "T36",
        "coverage/forms",
        "release/columns.py",
        "KeyColumn(label, at, (*column.group_labels, *over), is_label=True)",
        "KeyColumn(label, at, (*column.group_labels[::-1], *over), is_label=True)",
    ),
    Mutant(
        "keys under another condition cost nothing",
        "T11 T27",
        "identity/fields",
        "release/discover.py",
        'where = "" if self.where is None else f" WHERE {self.where}"',
        'where = ""',
    ),
    Mutant(
        "declare forgets that the number of rows is private",
        "T13",
        "doors/sources",
        "source.py",
        "schema.name, *described, every_row_counts=counts, file=",
        "schema.name, *described, every_row_counts=True, file=",
    ),
    Mutant(
        "a source file has another budget in every working directory",
        "T26",
        "doors/sources",
        "source.py",
        "opened._place = beside(file.parent, opened.name,",
        "opened._place = beside(Path(), opened.name,",
    ),
    Mutant(
        "the command release drops the analyst",
        "T25",
        "doors/commands",
        "cli/table.py",
        "**asked_by(analyst, progress))",
        "**asked_by(None, progress))",
    ),
    Mutant(
        "who loses a race shows noise of its own",
        "T25 T20",
        "doors/processes",
        "release/pipeline.py",
        "        answer = _unseen(lambda: ledger.record(entry, noisy() if own else unnamed(noisy())))\n",
        "        answer = noisy()\n        ledger.record(entry, answer)\n",
    ),
    Mutant(
        "a source may say a larger total than its ledger has",
        "T26",
        "doors/totals",
        "ledger/of_source.py",
        "if self.epsilon is not None and opened.total != self.epsilon:",
        "if self.epsilon is not None and opened.total > self.epsilon:",
    ),
    # --- randomness and honesty: written bits, the system's bytes, releases without noise ---
    Mutant(
        "keys of streams have 32 bits",
        "T21",
        "sampler/keystream",
        "noise/entropy.py",
        "return Keystream(os.urandom(32))",
        "return Keystream(os.urandom(4) * 8)",
    ),
    Mutant(
        "a fast generator takes the place of the cipher",
        "T21",
        "sampler/floats",
        "noise/entropy.py",
        "        self._cipher.update_into(_ZEROS[: len(part)] if len(part) < len(_ZEROS) else _ZEROS, part)\n",
        "        part[:] = np.random.default_rng(id(self)).bytes(len(part))\n",
    ),
    Mutant(
        "single draws come from Python's generator",
        "T21",
        "sampler/fresh",
        "noise/entropy.py",
        "return int.from_bytes(os.urandom(count // 8))",
        'return int(__import__("random").getrandbits(count))',
    ),
    Mutant(
        "all counts of a quantile have one noise",
        "T20",
        "sampler/keystream",
        "measure/selection.py",
        "            noise = draws(self.scale, groups, entropy).tolist()\n",
        '            noise = locals().get("noise") or draws(self.scale, groups, entropy).tolist()\n',
    ),
    Mutant(
        "zero is not halved in arrays of large noise",
        "T1",
        "sampler/decisions",
        "noise/sampler.py",
        "        if not kept or not (high or low or uniform(2, entropy=entropy)):\n",
        "        if not kept:\n",
    ),
    Mutant(
        "zero is not halved in single draws of large noise",
        "T1",
        "sampler/decisions",
        "noise/sampler.py",
        "        if kept and (high or low or uniform(2, entropy=entropy)):\n",
        "        if kept:\n",
    ),
    Mutant(
        "the low part of large noise is always kept",
        "T1",
        "sampler/decisions",
        "noise/sampler.py",
        "        kept = second[i] != -1 or _happens(_ONES, 16, low / law.scale, entropy)\n",
        "        kept = True\n",
    ),
    Mutant(
        "the grid of floats does not count their rounding",
        "T1 T2",
        "sampler/floats",
        "noise/mechanism.py",
        "        scale = (sensitivity // _power_of_two(exponent) + cells) / epsilon\n",
        "        scale = (sensitivity // _power_of_two(exponent)) / epsilon\n",
    ),
    Mutant(
        "ties of a race go to the first run",
        "T1",
        "sampler/decisions",
        "noise/sampler.py",
        "    if len(front) > 1:\n",
        "    if len(front) > 2:\n",
    ),
    Mutant(
        "the catalogue's variance takes every table for one of two rows",
        "T9",
        "sampler/added",
        "sensitivity.py",
        "    return (high - low) ** 2 * Fraction(n - 1, n * n)\n",
        "    return (high - low) ** 2 * Fraction(n // 2, n * n)\n",
    ),
    Mutant(
        "a missing cell counts without its factor",
        "T34",
        "coverage/truth",
        "measure/partition.py",
        "        left = (self.grid.steps**self.degree * (n - present),) if self.missing else ()\n",
        "        left = ((n - present),) if self.missing else ()\n",
    ),
    Mutant(
        "a wanted error may be exceeded twice",
        "T34",
        "coverage/forecasts",
        "plan/planning.py",
        "    return all(plan.margin(statistic, plan.confidence) <= target for statistic, target in wanted)\n",
        "    return all(plan.margin(statistic, plan.confidence) <= 2 * target for statistic, target in wanted)\n",
    ),
    Mutant(
        "a check shows shares instead of words",
        "T24",
        "canary/coarse",
        "checking.py",
        "    return WORDS[1 + sum(above)]\n",
        '    return f"{100 * part / whole:.1f} %" if above else ""\n',
    ),
    Mutant(
        "a check makes a ledger",
        "T24",
        "canary/coarse",
        "checking.py",
        "    return _checked(source.schema.anew(), source._table, progress)\n",
        "    return _checked(source.ledger and source.schema.anew(), source._table, progress)\n",
    ),
    Mutant(
        "the people of rows_per_person are not doubled for change_one",
        "T13",
        "worlds",
        "release/rows_per_person.py",
        '        return 1 if self.schema.neighbors == "add_remove" else 2\n',
        "        return 1\n",
        seed=134,
    ),
    Mutant(
        "the search for rows_per_person reads what is declared",
        "T18",
        "worlds",
        "engine/row_counts.py",
        '        "people AS (SELECT COUNT(*) AS c FROM kept GROUP BY person),",\n',
        '        f"people AS (SELECT LEAST(COUNT(*), {schema.rows_per_person or 1}) AS c FROM kept "\n'
        '        "GROUP BY person),",\n',
        seed=132,
    ),
    Mutant(
        "rows per person of other rows are the same question",
        "T27",
        "identity/fields",
        "release/rows_per_person.py",
        '        where = "" if self.where is None else f" WHERE {self.where}"\n',
        '        where = ""\n',
    ),
    Mutant(
        "empty bins of private bounds are occupied by noise",
        "T34",
        "coverage/forecasts",
        "release/bounds.py",
        "    return DiscreteLaplace(plan.scale(part)).simultaneous_margin(plan.groups, NINETY_FIVE)\n",
        "    return DiscreteLaplace(plan.scale(part)).margin(NINETY_FIVE)\n",
    ),
    Mutant(
        "bars of sums of several cells miss twice as often",
        "T34",
        "coverage/groups",
        "noise/intervals.py",
        "    limit = exact.as_decimal(beyond, context)\n",
        "    limit = exact.as_decimal(2 * beyond, context)\n",
    ),
    Mutant(
        "bars for all statistics at once hold for one",
        "T34",
        "coverage/truth",
        "plan/plan.py",
        "        return 1 - (1 - confidence) / len(self.query.statistics), self.groups\n",
        "        return confidence, self.groups\n",
    ),
    Mutant(
        "the number of people needed is rounded down",
        "T34",
        "coverage/formulas",
        "noise/intervals.py",
        "    return math.isqrt(max(math.ceil(square) - 1, 0)) + 1\n",
        "    return max(math.isqrt(max(math.ceil(square) - 1, 0)), 1)\n",
    ),
    # --- SQL as people write it, and cuts of the answer ---
    Mutant(
        "HAVING on a key filters rows, before the noise",
        "T43",
        "identity/cuts",
        "question/statement.py",
        "    return Statement(query, _cut(shown, query, schema, items, names))\n",
        "    cut = _cut(shown, query, schema, items, names)\n"
        "    names = [f'\"{each.name}\"' for each in query.statistics]\n"
        "    if cut.having is not None and not any(name in str(cut.having) for name in names):\n"
        "        query = replace(query, where=cut.having)\n"
        "    return Statement(query, cut)\n",
    ),
    Mutant(
        "LIMIT counts groups before the noise: the others are left out of the question",
        "T43",
        "identity/cuts",
        "plan/asked.py",
        "    query, cut, tables = asked(schema, statistics, by, where, weights)\n",
        "    query, cut, tables = asked(schema, statistics, by, where, weights)\n"
        "    if cut.limit and not cut.order and query.by:\n"
        "        some = schema.columns[query.by[0]]\n"
        "        some = replace(some, keys=some.keys[: cut.limit])\n"
        "        schema = replace(schema, columns={**schema.columns, query.by[0]: some})\n",
    ),
    Mutant(
        "LIMIT is part of the question in the ledger, so that another one is charged again",
        "T27 T43",
        "identity/cuts",
        "source.py",
        "    plan, cut = replace(plan, shown=WHOLE), plan.shown\n",
        "    plan, cut = replace(plan, shown=WHOLE), plan.shown\n"
        "    asked = plan.schema if cut.limit is None else replace(plan.schema, version=str(cut.limit))\n"
        "    plan = replace(plan, schema=asked)\n",
    ),
    Mutant(
        "the WHERE of a subquery is dropped",
        "T18",
        "identity/cuts",
        "question/rewrite.py",
        "    for condition in rows.where:\n",
        "    for condition in rows.where[1:]:\n",
    ),
    Mutant(
        "a new name in a subquery means the column that has this name in the source",
        "T18",
        "identity/cuts",
        "question/rewrite.py",
        "            meant.append((column, budget.copy(rows.columns[name])))\n",
        "            meant.append((column, budget.copy(column if len(name) == 1 else rows.columns[name])))\n",
    ),
    Mutant(
        "numbers in GROUP BY are off by one",
        "T36",
        "identity/cuts",
        "question/rewrite.py",
        "    return number - 1\n",
        "    return number % len(items)\n",
    ),
    Mutant(
        "a word after a table that is no alias is ignored",
        "T36",
        "identity/syntax",
        "question/rewrite.py",
        '    if not alias.this.args.get("quoted") and (',
        "    if not name and (",
    ),
    Mutant(
        "the rows of a cut have the numbers of other groups",
        "T36",
        "identity/cuts",
        "release/estimate.py",
        "        among = at * self.together + groups % self.together\n",
        "        among = np.sort(at) * self.together + groups % self.together\n",
    ),
    Mutant(
        "an aggregate in ORDER BY means the first one in SELECT",
        "T43",
        "identity/cuts",
        "question/statement.py",
        "            return name\n",
        "            return names[len(titles)] if isinstance(node, exp.AggFunc) else name\n",
    ),
    Mutant(
        "OFFSET has no effect on ordered rows",
        "T43",
        "identity/cuts",
        "release/cutting.py",
        "most)[0][0][cut.offset :]\n",
        "most)[0][0]\n",
    ),
    Mutant(
        "NOT has no effect in HAVING",
        "T43",
        "identity/cuts",
        "question/cut.py",
        "        condition = condition_of(_named(having.this, answer, meaning), answer)\n",
        "        for each in list(having.find_all(exp.Not)):\n"
        "            each.replace(each.this)\n"
        "        condition = condition_of(_named(having.this, answer, meaning), answer)\n",
    ),
    # --- failures ---
    Mutant(
        "an answer that could not be recorded is shown",
        "T26 T27",
        "failures/steps",
        "release/pipeline.py",
        "        answer = _unseen(lambda: ledger.record(entry, noisy() if own else unnamed(noisy())))\n",
        "        answer = noisy()\n"
        "        try:\n"
        "            answer = ledger.record(entry, answer)\n"
        "        except LedgerError:\n"
        "            pass\n",
    ),
    Mutant(
        "an error shows the noisy integers that were not recorded",
        "T27",
        "failures/steps",
        "release/pipeline.py",
        "        answer = _unseen(lambda: ledger.record(entry, noisy() if own else unnamed(noisy())))\n",
        "        answer = ledger.record(entry, noisy())\n",
    ),
    Mutant(
        "an interrupt shows the exact integers",
        "T24",
        "failures/steps",
        "engine/table.py",
        "        except KeyboardInterrupt:\n            failure = KeyboardInterrupt()\n",
        "        except KeyboardInterrupt:\n            raise\n",
    ),
    Mutant(
        "noise is added outside the place where errors lose their text",
        "T24",
        "failures/steps",
        "release/pipeline.py",
        "        return table.guarded(\n"
        '            "failed while noise was added", COMPLETE, lambda: _noisy(plan, tallies(), entropy, progress)\n'
        "        )\n",
        "        return _noisy(plan, tallies(), entropy, progress)\n",
    ),
    Mutant(
        "a charge is not synced to the disk",
        "T26",
        "failures/durable",
        "ledger/store.py",
        'connection.execute("PRAGMA synchronous=EXTRA")',
        'connection.execute("PRAGMA synchronous=NORMAL")',
    ),
    Mutant(
        "a charge reads what is left before it locks the file",
        "T25",
        "failures/durable",
        "ledger/store.py",
        'connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")',
        'connection.exec_driver_sql("BEGIN")',
    ),
    Mutant(
        "an analyst is held to the own cap, but not to the total",
        "T25",
        "failures/caps",
        "ledger/ledger.py",
        "        left, total, who = min(limits)\n",
        "        left, total, who = limits[-1]\n",
    ),
    Mutant(
        "δ is not limited for analysts",
        "T25",
        "failures/caps",
        "ledger/ledger.py",
        "        if amount_delta > left_delta:\n",
        "        if amount_delta > left_delta and mine is None:\n",
    ),
    Mutant(
        "who is second to record an answer shows another one",
        "T25 T27",
        "failures/caps",
        "ledger/ledger.py",
        "            if charge.answered:\n                return charge.answer\n",
        "            if charge.answered:\n                return json.loads(text)\n",
    ),
    Mutant(
        "an edited answer is shown until the ledger is verified",
        "T27",
        "failures/shown",
        "ledger/ledger.py",
        '        if text is None or sha256(text) != self._sound(answers[0])["answer"]:\n',
        "        if text is None:\n",
    ),
    Mutant(
        "an answer that an edited index hides is given again",
        "T27",
        "failures/shown",
        "ledger/ledger.py",
        "            if hidden:\n",
        "            if hidden and not row:\n",
    ),
    Mutant(
        "a ledger that fails once remembers a charge that was undone",
        "T26",
        "failures/steps",
        "ledger/ledger.py",
        "            yield turn\n        self._remember(turn.last)\n",
        "            try:\n                yield turn\n"
        "            finally:\n                self._remember(turn.last)\n",
    ),
    Mutant(
        "a quantile by groups is charged as if a person stayed in one",
        "T35",
        "laws/choices",
        "measure/selection.py",
        "if alone and not self.grouped else 2 * widest",
        "if alone else 2 * widest",
    ),
    Mutant(
        "values at a border are in the bin below, if there are many bins",
        "T32",
        "worlds",
        "engine/write_sql.py",
        'return f"CASE WHEN {cells.below(name, edges[middle])} THEN {below} ELSE {above} END"',
        'return f"CASE WHEN NOT {cells.below(name, edges[middle])} THEN {above} ELSE {below} END".replace("<", "<=")',
        seed=19,
    ),
    Mutant(
        "the order of a quantile is accepted and ignored",
        "T43",
        "identity/syntax",
        "question/quantiles.py",
        'not isinstance(order[0], exp.Ordered) or order[0].args.get("desc"):',
        "not isinstance(order[0], exp.Ordered):",
    ),
    Mutant(
        "every version has a ledger of its own",
        "T46",
        "doors/one_ledger",
        "source.py",
        "default(self._table.folder, name) if ledger is None",
        'default(self._table.folder, f"{name}{version or str()}") if ledger is None',
    ),
    Mutant(
        "the command that verifies a ledger forgets the head it was given",
        "T26",
        "doors/commands",
        "cli/ledger.py",
        "count, last = opened.verify(head), opened.head",
        "count, last = opened.verify(), opened.head",
    ),
    Mutant(
        "the collation of a DuckDB file decides which texts are the same",
        "T18",
        "reading/formats",
        "engine/duckdb_files.py",
        """return f'{quoted(field.name)} COLLATE "binary"' if field.type == "VARCHAR" else quoted(field.name)""",
        "return quoted(field.name)",
    ),
    Mutant(
        "a byte order mark is ignored in the first row alone",
        "T50",
        "reading/formats",
        "engine/records.py",
        "return stream if form.names is None else Unmarked(stream)",
        "return stream",
    ),
    Mutant(
        "a check does not tell that records were left out",
        "T50",
        "reading/formats",
        "engine/records.py",
        'left_out += part.number - lines.count(b"\\n") - written.count(b"\\n")',
        "left_out += 0",
    ),
    # --- joins ---
    Mutant(
        "weights are computed before the join",
        "T39",
        "worlds",
        "engine/write_sql.py",
        '"  FROM bounded GROUP BY person),"',
        "f\"  FROM {'source' if schema.joins else 'bounded'} GROUP BY person),\"",
        seed=6,
    ),
    Mutant(
        "a look-up may have a key twice",
        "T39",
        "sensitivities/joins",
        "engine/look_up.py",
        "        if twice:\n",
        "        if twice < 0:\n",
    ),
    Mutant(
        "a look-up may have a key twice, with different cells",
        "T39",
        "sensitivities/joins",
        "engine/look_up.py",
        "Counter(keys).values()",
        "Counter(zip(keys, *columns[1:])).values()",
    ),
    Mutant(
        "a look-up depends on the rows of the table",
        "T39",
        "worlds",
        "engine/duckdb.py",
        """SELECT {', '.join(typed)} FROM listed")\n""",
        """SELECT {', '.join(typed)} FROM listed WHERE (SELECT COUNT(*) FROM source) > 2")\n""",
        seed=36,
    ),
    Mutant(
        "people are joined with the rows of others",
        "T39",
        "worlds",
        "engine/joins.py",
        'key = f"{rows}.person = {table}.person"',
        'key = f"{rows}.person >= {table}.person"',
        seed=78,
    ),
    Mutant(
        "rows without a partner are dropped",
        "T39",
        "worlds",
        "engine/joins.py",
        "FROM {rows} LEFT JOIN {table} ON {key}",
        "FROM {rows} JOIN {table} ON {key}",
        seed=162,
    ),
    Mutant(
        "what a look-up holds is no part of the question",
        "T27",
        "identity/fields",
        "question/join.py",
        """            about["content"] = f"SHA-256 {digest}"\n""",
        "",
    ),
    Mutant(
        "the person column of a joined table is no part of the question",
        "T27",
        "identity/fields",
        "question/join.py",
        """            about["person"] = each.person\n""",
        """            about["person"] = ""\n""",
    ),
    Mutant(
        "people who are numbers in one table and texts in another are joined",
        "T39",
        "sensitivities/joins",
        "engine/table.py",
        "        if len({*classes} - {None}) > 1:\n",
        "        if len({*classes} - {None}) > 2:\n",
    ),
    Mutant(
        "a code for missing finds a partner in a look-up",
        "T39",
        "sensitivities/joins",
        "engine/joins.py",
        "plain(looked_up.kind, looked_up.missing)",
        "plain(looked_up.kind)",
    ),
    Mutant(
        "a table of people is joined only where one of its columns is read",
        "T39",
        "worlds",
        "question/join.py",
        "        if each.on is None:\n            read.append((number, each))\n        elif",
        "        if each.on is None and needed & {name for name, _ in each.columns}:\n"
        "            read.append((number, each))\n        elif each.on is not None and",
        seed=18,
    ),
    Mutant(
        "the bounds of a product are those of its ends",
        "T1",
        "sensitivities/expressions",
        "question/grids.py",
        "Grid(product.grid.step * other.grid.step, min(corners), max(corners))",
        "Grid(product.grid.step * other.grid.step, min(corners[0], corners[3]), max(corners[0], corners[3]))",
    ),
    Mutant(
        "a negative factor leaves the ends of a sum where they are",
        "T1",
        "sensitivities/expressions",
        "question/grids.py",
        "ends = [sorted((n * part.grid.low, n * part.grid.high)) for n, part in zip(whole, parts, strict=True)]",
        "ends = [(abs(n) * part.grid.low, abs(n) * part.grid.high) for n, part in zip(whole, parts, strict=True)]",
    ),
    Mutant(
        "a quotient has the sign of its dividend",
        "T1",
        "sensitivities/expressions",
        "engine/computing.py",
        "CASE WHEN ({top} < 0) = ({bottom} < 0) THEN {size} ELSE -{size} END",
        "CASE WHEN {top} >= 0 THEN {size} ELSE -{size} END",
    ),
    Mutant(
        "a quotient is not clamped",
        "T1",
        "sensitivities/expressions",
        "engine/computing.py",
        'clamped = f"CASE WHEN {signed} < {low} THEN {low} WHEN {signed} > {high} THEN {high} ELSE {signed} END"',
        "clamped = signed",
    ),
    Mutant(
        "a coarser grid keeps its integers",
        "T1",
        "sensitivities/expressions",
        "engine/computing.py",
        'return _plus(to.divided.format(a=f"({_plus(x, 2 ** (bits - 1) - low * 2**bits)})", b=2**bits), low)',
        "return x",
    ),
    Mutant(
        "a missing part of an expression counts as 0",
        "T8",
        "sensitivities/expressions",
        "engine/computing.py",
        'return _plus(f"CAST({grid_index(cell, step.grid, to)} AS {to.big})", step.grid.low)',
        "return f\"COALESCE({_plus(f'CAST({grid_index(cell, step.grid, to)} AS {to.big})', step.grid.low)}, 0)\"",
    ),
    Mutant(
        "LEAST and GREATEST leave missing values out",
        "T8",
        "sensitivities/expressions",
        "engine/computing.py",
        'return f"CASE WHEN {present} THEN {chosen} END"',
        "return chosen",
    ),
    Mutant(
        "FLOOR rounds towards zero",
        "T1",
        "sensitivities/expressions",
        "engine/computing.py",
        "return _plus(to.divided.format(a=f\"({_plus(f'{a} * {x}', add - low * b)})\", b=b), low)",
        "return to.divided.format(a=f\"({_plus(f'{a} * {x}', add)})\", b=b)",
    ),
    Mutant(
        "cells beyond the keys count in an expression",
        "T1",
        "sensitivities/expressions",
        "engine/computing.py",
        'return f"CASE WHEN {cell} IN ({listed}) THEN CAST({cell} AS {to.big}) END"',
        'return f"CASE WHEN {cell} IN ({listed}) OR ABS({cell}) < 100 THEN CAST({cell} AS {to.big}) END"',
    ),
    Mutant(
        "dates beyond their range count as they are in days between",
        "T1",
        "sensitivities/expressions",
        "engine/computing.py",
        'return f"CASE WHEN {cell} <= {first} THEN {low} WHEN {cell} >= {last} THEN {high} ELSE {days} END"',
        'return f"CASE WHEN {cell} <= {first} THEN {low} ELSE {days} END"',
    ),
    Mutant(
        "a week begins on Sunday",
        "T1",
        "sensitivities/expressions",
        "engine/computing.py",
        '_SINCE_MONDAY}, 7)"',
        '_SINCE_MONDAY + 1}, 7)"',
    ),
    Mutant(
        "weights count as one of their steps in the sensitivity",
        "T1",
        "sensitivities/neighbors",
        "measure/weighted.py",
        "return self.fine * self.weight_grid.high * self.grid.steps",
        "return self.fine * self.grid.steps",
    ),
    Mutant(
        "rows without a value weigh nothing",
        "T13",
        "sensitivities/expressions",
        "measure/weighted.py",
        "left = (steps * (every - present),) if self.missing else ()",
        "left = (every - present,) if self.missing else ()",
    ),
    Mutant(
        "weights are not clamped",
        "T1",
        "sensitivities/expressions",
        "engine/write_sql.py",
        'return f"COALESCE(CAST({cells.index(measurement.weight, grid)} AS {cells.to.big}) + {grid.low}, 0)"',
        'return f"COALESCE(2 * CAST({cells.index(measurement.weight, grid)} AS {cells.to.big}) + {grid.low}, 0)"',
    ),
    Mutant(
        "a missing weight counts as the largest",
        "T8",
        "sensitivities/expressions",
        "engine/write_sql.py",
        "+ {grid.low}, 0)",
        "+ {grid.low}, {grid.high})",
    ),
    Mutant(
        "expressions are no part of a computed column's question",
        "T27",
        "identity/fields",
        "question/schema.py",
        '            declaration["expression"] = str(self.expression)\n',
        '            declaration["expression"] = self.kind\n',
    ),
    Mutant(
        "the order of a difference is lost in the ledger",
        "T27",
        "sensitivities/expressions",
        "question/expression.py",
        'text += f" - {_inside(opposite)}"',
        'text += f" + {_inside(opposite)}"',
    ),
    # --- after the release: ratios, comparisons, marks of noise ---
    Mutant(
        "the bar of a ratio takes numerator and denominator as independent",
        "T31",
        "coverage/compared",
        "measure/quotients.py",
        "EqualDraws(top * float(s.top) - bottom * float(s.bottom), s.scale, s.times)",
        "EqualDraws(abs(top * float(s.top)) + abs(bottom * float(s.bottom)), s.scale, s.times)",
    ),
    Mutant(
        "the bar of a difference of means forgets the second",
        "T31",
        "coverage/compared",
        "measure/quotients.py",
        "    return np.maximum(np.hypot(first, second), laplace)\n",
        "    return first\n",
    ),
    Mutant(
        "the bar of a difference of counts forgets the second",
        "T31",
        "coverage/compared",
        "release/comparing.py",
        "each.scale, each.times) for each in slots]",
        "each.scale, each.times) for each in slots[: -(-len(slots) // 2)]]",
    ),
    Mutant(
        "the total of a share leaves out the cell itself",
        "T31",
        "coverage/compared",
        "release/comparing.py",
        "Slot(each.top, each.top, each.scale, 1, table.reshape(-1))",
        "Slot(each.top, Fraction(0), each.scale, 1, table.reshape(-1))",
    ),
    Mutant(
        "a total over a key has the noise of one group",
        "T31",
        "coverage/compared",
        "release/comparing.py",
        "lambda table: table.sum(axis=tuple(over)), times=times)",
        "lambda table: table.sum(axis=tuple(over)))",
    ),
    Mutant(
        "a ratio whose denominator may be 0 is shown with a bar",
        "T31",
        "coverage/compared",
        "measure/quotients.py",
        "        return Bars(value, np.where(sure, low, -np.inf), np.where(sure, high, np.inf), sure)\n",
        "        return Bars(value, np.where(sure, low, value - 1), np.where(sure, high, value + 1), sure | True)\n",
    ),
    Mutant(
        "the noise of all numbers is that of the first statistic",
        "T31",
        "coverage/compared",
        "release/afterwards.py",
        "zip(self.plan.query.statistics, self._usual.of(groups), strict=True)",
        "zip(self.plan.query.statistics, self._usual.of(groups)[:1] * 100, strict=False)",
    ),
    Mutant(
        "a smaller confidence makes all noise low",
        "T31",
        "coverage/compared",
        "release/afterwards.py",
        "        if not self.simultaneous and self.confidence == NINETY_FIVE:\n",
        "        if not self.simultaneous:\n",
    ),
    Mutant(
        "numbers whose noise is high are not suppressed",
        "T42",
        "coverage/compared",
        "release/noise_marks.py",
        "out = np.isin(found[name], (HIGH, NOTHING))",
        "out = np.isin(found[name], (NOTHING,))",
    ),
    Mutant(
        "small cells are suppressed before the noise",
        "T42",
        "coverage/truth",
        "measure/measurement.py",
        "        groups, exactly = self.exact_cells(exact)\n",
        "        groups, exactly = self.exact_cells(exact)\n"
        "        exactly = [np.where(np.abs(cell) < 3, 0, cell) for cell in exactly]\n",
    ),
    Mutant(
        "the key within which shares are taken is not passed on",
        "T36",
        "doors/commands",
        "cli/compare.py",
        "release.share(within=list(within))",
        "release.share()",
    ),
    # --- answers that are read back, values in logs, rows that are taken for a header ---
    Mutant(
        "explain compares only the text of the question",
        "T27",
        "identity/recalled",
        "release/recall.py",
        "    _refuse_changed(question(plan), asked, schema, number)\n",
        '    _refuse_changed(asked | {"query": question(plan)["query"]}, asked, schema, number)\n',
    ),
    Mutant(
        "an answer is read back for any version of the data",
        "T27",
        "identity/recalled",
        "release/recall.py",
        "    _refuse_changed(question(plan), asked, schema, number)\n",
        '    _refuse_changed({**question(plan), "version": 0}, {**asked, "version": 0}, schema, number)\n',
    ),
    Mutant(
        "keys that were found are read back whatever has changed",
        "T27",
        "identity/recalled",
        "release/recall.py",
        "        _refuse_changed(keys.question(), asked, schema, number)\n",
        "",
    ),
    Mutant(
        "parameters of failed statements are logged",
        "T27",
        "failures/statements",
        "ledger/store.py",
        "poolclass=NullPool, hide_parameters=True, **named",
        "poolclass=NullPool, **named",
    ),
    Mutant(
        "rows of the ledger are logged at DEBUG, answers that are then not recorded among them",
        "T27",
        "failures/statements",
        "ledger/store.py",
        "    return record.levelno > logging.DEBUG\n",
        "    return True\n",
    ),
    Mutant(
        "an error of the ledger has a note with the answer that was not recorded",
        "T27",
        "failures/statements",
        "ledger/failure.py",
        "        raise LedgerError(where, *meaning(error, engine)) from None\n",
        "        failure = LedgerError(where, *meaning(error, engine))\n"
        '        failure.add_note(str(getattr(error, "params", "")))\n'
        "        raise failure from None\n",
    ),
    Mutant(
        "init does not look for a header that is a row",
        "T24",
        "canary/init",
        "source_file.py",
        "    opened.check_names()\n    place = table\n",
        "    place = table\n",
    ),
    Mutant(
        "init looks for a header that is a row only where there is no source file yet",
        "T24",
        "canary/init",
        "source_file.py",
        "    opened.check_names()\n    if found is not None:  # a line",
        "    if False:  # a line",
    ),
    Mutant(
        "init compares a header with the first row only",
        "T24",
        "canary/init",
        "engine/records.py",
        "row_rather_than_names(header, islice(rows, _LOOKED_AT))",
        "row_rather_than_names(header, islice(rows, 1))",
    ),
    Mutant(
        "an error about a first line that is a row shows it",
        "T24",
        "canary/init",
        "engine/header.py",
        '            "has a column name that is a number or a date, as if its first line were a row",\n',
        '            f"has a column name that is a number or a date: {columns}",\n',
    ),
    # --- several tables ---
    Mutant(
        "each of several tables gets the whole ε",
        "T41",
        "sensitivities/several",
        "plan/several.py",
        "            yield Setting(self.plan.schema, self._question(table), part.epsilon * share, self.plan.rows)\n",
        "            yield Setting(self.plan.schema, self._question(table), part.epsilon, self.plan.rows)\n",
    ),
    Mutant(
        "the shares of several tables add up to a little more than 1",
        "T41",
        "laws/several",
        "plan/several.py",
        "            yield Setting(self.plan.schema, self._question(table), part.epsilon * share, self.plan.rows)\n",
        "            share += Fraction(1, 10**5)\n"
        "            yield Setting(self.plan.schema, self._question(table), part.epsilon * share, self.plan.rows)\n",
    ),
    Mutant(
        "one noise serves all of several tables",
        "T20",
        "laws/several",
        "release/pipeline.py",
        "            part.measurement.noisy(tally.exact(plan, number), setting, entropy, progress)\n",
        "            part.measurement.noisy(tally.exact(plan, number), setting, entropy if plan.several is None else\n"
        "                __import__('lapwing.noise.entropy', fromlist=['x']).EntropyForTests(number), progress)\n",
    ),
    Mutant(
        "the total of several tables is exact",
        "T41",
        "sensitivities/several",
        "release/pipeline.py",
        "            part.measurement.noisy(tally.exact(plan, number), setting, entropy, progress)\n",
        "            part.measurement.noisy(tally.exact(plan, number), setting if setting.query.by or\n"
        "                plan.several is None else replace(setting, epsilon=Fraction(10**9)), entropy, progress)\n",
    ),
    Mutant(
        "a margin is measured twice and charged once",
        "T41",
        "sensitivities/several",
        "release/pipeline.py",
        "            part.measurement.noisy(tally.exact(plan, number), setting, entropy, progress)\n",
        "            part.measurement.noisy(tally.exact(plan, number), setting, entropy, progress)\n"
        "            if plan.several is None or len(setting.query.by) != 1 else\n"
        "            [(a + b) // 2 for a, b in zip(*(part.measurement.noisy(\n"
        "                tally.exact(plan, number), setting, entropy, progress) for _ in range(2)))]\n",
    ),
    Mutant(
        "a table with many rows gets less noise than its share",
        "T12 T41",
        "sensitivities/several",
        "release/pipeline.py",
        "            part.measurement.noisy(tally.exact(plan, number), setting, entropy, progress)\n",
        "            part.measurement.noisy(tally.exact(plan, number), setting if plan.several is None else\n"
        "                replace(setting, epsilon=setting.epsilon * (1 + (tally.rows > 99))), entropy, progress)\n",
    ),
    Mutant(
        "which tables are measured is no part of the question",
        "T27 T41",
        "identity/reused",
        "release/pipeline.py",
        "    if plan.strategy is not None:\n",
        "    if plan.strategy is not None and not plan.query.sets:\n",
    ),
    Mutant(
        "rows without one of the keys are counted in the total",
        "T9",
        "laws/several",
        "engine/write_sql.py",
        "    *steps, last = tables_sql([key.size for key in keys], axes, counts, to)\n",
        "    *steps, last = tables_sql([key.size for key in keys], axes, counts, to)\n"
        "    rows = tallied.rows.replace(' JOIN', ' LEFT JOIN')\n"
        "    every = f\"FROM (SELECT {', '.join(finest[len(used):])} FROM {rows})\"\n"
        "    several = [one.replace('FROM finest', every) if ' 0 AS cell' in one else one\n"
        "               for one in last.split('\\nUNION ALL ')]\n"
        "    last = '\\nUNION ALL '.join(several)\n",
    ),
    Mutant(
        "change_one is not doubled in several tables",
        "T13 T41",
        "sensitivities/several",
        "plan/several.py",
        "            yield Setting(self.plan.schema, self._question(table), part.epsilon * share, self.plan.rows)\n",
        '            once = replace(self.plan.schema, neighbors="add_remove")\n'
        "            yield Setting(once, self._question(table), part.epsilon * share, self.plan.rows)\n",
    ),
    Mutant(
        "the record of several tables holds where they are empty",
        "T42",
        "laws/several",
        "release/pipeline.py",
        '    answer["cells"] = recorded(cells)\n',
        '    answer["cells"] = recorded(cells)\n'
        "    if plan.several is not None:\n"
        '        answer["occupied"] = [len(each.exact(plan, 0).columns[0]) for each in tallies]\n',
    ),
    Mutant(
        "cells without rows get no noise in tables of several keys",
        "T42",
        "sensitivities/several",
        "measure/measurement.py",
        "        return [add(cell, groups, value) for cell, value in zip(noise, exactly, strict=True)]\n",
        "        if len(setting.query.by) > 1:\n"
        "            noise = [np.where(np.isin(np.arange(len(cell)), groups), cell, 0) for cell in noise]\n"
        "        return [add(cell, groups, value) for cell, value in zip(noise, exactly, strict=True)]\n",
    ),
    Mutant(
        "the finest table is not rounded with its margins",
        "T36",
        "laws/several",
        "release/several.py",
        "            self.made[key] = self._tables.stacked(published.tables), published.grid\n",
        "            self.made[key] = np.rint(self._tables.stacked(self._tables.split(total))), published.grid\n",
    ),
    Mutant(
        "bars of several tables leave out what the grid moves",
        "T31",
        "coverage/totals",
        "plan/several.py",
        "            margin += adding_up.bound(len(table), grid) * (1 if apart is None else 2)\n",
        "            margin += 0\n",
    ),
    Mutant(
        "bars of several tables are those of one draw each",
        "T31 T44",
        "coverage/totals",
        "plan/several.py",
        "[EqualDraws(weight, self._scales[part][of], times) for",
        "[EqualDraws(weight, self._scales[part][of], 1) for",
    ),
    Mutant(
        "bars for all cells of several tables at once are for one table",
        "T31",
        "coverage/totals",
        "plan/plan.py",
        "            return 1 - (1 - confidence) / (len(self.query.statistics) * self.groups), 1\n",
        "            return 1 - (1 - confidence) / (len(self.query.statistics) * len(self.query.sets)), 1\n",
    ),
    Mutant(
        "a released table answers a question under another WHERE",
        "T27",
        "identity/reused",
        "release/reuse.py",
        "    if asked.where != held.where or not known",
        "    if not known",
    ),
    Mutant(
        "a released table answers a question about another version",
        "T27",
        "identity/reused",
        "release/reuse.py",
        "        if {name: value for name, value in held.items() if name not in _PARTS} != same or held == asked:\n"
        "            continue\n"
        "        earlier = recorded_plan(plan.schema, entry)\n",
        "        same.pop('version', None)\n"
        "        parts = (*_PARTS, 'version')\n"
        "        if {name: value for name, value in held.items() if name not in parts} != same or held == asked:\n"
        "            continue\n"
        "        earlier = recorded_plan(replace(plan.schema, version=held.get('version')), entry)\n",
    ),
    Mutant(
        "a released table answers a question with other bounds",
        "T27",
        "identity/reused",
        "release/reuse.py",
        "        if earlier is None or question(earlier) != held:",
        "        if earlier is None:",
    ),
    Mutant(
        "a released table answers a question that asks for less noise",
        "T27",
        "identity/reused",
        "release/reuse.py",
        "    return chosen if _as_precise(chosen, plan) else None\n",
        "    return chosen\n",
    ),
    Mutant(
        "a released table answers a question about more rows",
        "T27",
        "identity/reused",
        "release/reuse.py",
        "for key in held.by if key not in asked.by):",
        "for key in held.by if key not in held.by):",
    ),
    Mutant(
        "a released table is rounded anew when it answers a later question",
        "T27",
        "identity/reused",
        "release/reuse.py",
        "    chosen = replace(earlier.showing(shown), confidence=plan.confidence, keys=asked.by)\n",
        "    chosen = replace(earlier, query=shown, confidence=plan.confidence, keys=asked.by)\n",
    ),
    Mutant(
        "a question loses its own answer to tables that are released later",
        "T27",
        "identity/reused",
        "release/reuse.py",
        "    return None if own is not None and own.answered else _from_tables(",
        "    return None if own is not None and not own.answered else _from_tables(",
    ),
    Mutant(
        "every county is in the region of the next one",
        "T36",
        "laws/hierarchies",
        "question/within.py",
        "    pairs = tuple((key, text) for key, text in codes.items() if key != other)\n",
        "    texts = [*codes.values()]\n"
        "    pairs = tuple(pair for pair in zip(codes, texts[1:] + texts[:1], strict=True) if pair[0] != other)\n",
    ),
    Mutant(
        "an entry is combined with itself as if its noise were two measurements",
        "T31",
        "laws/several",
        "release/combining.py",
        "        if number in used:\n",
        "        if number in used and not other.entries:\n",
    ),
    Mutant(
        "releases of other rows are combined",
        "T27",
        "laws/several",
        "release/combining.py",
        "    if plan.query.where != other.query.where:\n",
        "    if plan.query.by != other.query.by and plan.query.where != other.query.where:\n",
    ),
    Mutant(
        "evidence is taken to have the noise of the answer that it is combined with",
        "T31",
        "laws/several",
        "release/combining.py",
        "            tuple(tables.scale(part, table) for part in range(len(split))),\n",
        "            tuple(answer.plan.scale(each) for each in answer.plan.parts),\n",
    ),
    Mutant(
        "the counties of a region are rounded without it",
        "T36",
        "laws/hierarchies",
        "release/several.py",
        "self._tables.grid(statistic), self._tables.chain)",
        "self._tables.grid(statistic), None)",
    ),
    Mutant(
        "all levels of a hierarchy but the finest are measured for free",
        "T41",
        "laws/hierarchies",
        "plan/several.py",
        "            yield Setting(self.plan.schema, self._question(table), part.epsilon * share, self.plan.rows)\n",
        "            finest = self.chain and self.plan.query.by[self.chain.columns[-1]]\n"
        "            spent = part.epsilon * share if finest is None or finest in table else part.epsilon\n"
        "            yield Setting(self.plan.schema, self._question(table), spent, self.plan.rows)\n",
    ),
    Mutant(
        "a mistyped value is echoed in the error",
        "T24",
        "canary/bare",
        "cli/main.py",
        'raise click.BadParameter("every VALUE is a number", param_hint="VALUE") from None',
        'raise click.BadParameter(f"{given!r} is not a number", param_hint="VALUE") from None',
    ),
    Mutant(
        "a value with two minus signs is taken for an option, and echoed",
        "T24",
        "canary/bare",
        "cli/main.py",
        'if re.fullmatch(r"--[A-Za-z-]+", given):',
        'if given.startswith("--"):',
    ),
    # --- the server ---
    Mutant(
        "a question by the server counts against no cap",
        "T25",
        "doors/server",
        "server/asking.py",
        "release_planned(self.served.source, self.plan, analyst=self.person, progress=progress)",
        "release_planned(self.served.source, self.plan, analyst=None, progress=progress)",
    ),
    Mutant(
        "a question that was answered is computed and charged again by the server",
        "T27",
        "doors/server",
        "server/asking.py",
        "        return self._shown("
        "release_planned(self.served.source, self.plan, analyst=self.person, progress=progress))\n",
        "        statistics, named = self.asking.arguments()\n"
        '        named["where"] = f"x <= {10 + len(self.served.ledger.entries())}"\n'
        "        asked = dict(epsilon=self.asking.epsilon, analyst=self.person, **named)\n"
        "        return self._shown(self.served.source.release(*statistics, **asked))\n",
    ),
    Mutant(
        "the server says of a repeated question that it is new, with other numbers",
        "T27",
        "doors/server",
        "server/asking.py",
        '        "answer": dict(release.answer) if own else unnamed(release.answer),\n',
        '        "answer": {**release.answer, "cells": [[[int(n) + 1 for n in cell] for cell in part]'
        ' for part in release.answer["cells"]]},\n',
    ),
    Mutant(
        "the names that somebody gave are told to another one who asks the same",
        "T48",
        "doors/server",
        "server/asking.py",
        "    own = entry is None or entry.analyst == release.analyst\n",
        "    own = True\n",
    ),
    Mutant(
        "who completes a question of somebody else gives it names",
        "T48",
        "doors/server",
        "release/pipeline.py",
        "noisy() if own else unnamed(noisy())",
        "noisy()",
    ),
    Mutant(
        "a token that is limited to some sources gives the roles of all",
        "T48",
        "doors/server",
        "server/access.py",
        '            if each["role"] is not None and (scope is None or each["source"] in scope):\n',
        '            if each["role"] is not None and (scope is None or scope):\n',
    ),
    Mutant(
        "what a role may do is looked up for a source, and anyone with a role for it may do all",
        "T48",
        "doors/server",
        "server/permissions.py",
        "        return not ROLES[permission].isdisjoint(self.roles.get(source, frozenset()))\n",
        "        return bool(self.roles.get(source, frozenset()))\n",
    ),
    Mutant(
        "a source of others is told from one that is not there",
        "T48",
        "doors/server",
        "server/routing.py",
        "                raise not_allowed()\n            served = None\n",
        "                code = 403 if source in request.app.state.parts.sources else 404\n"
        '                raise Refusal(code, "NotAllowed", not_allowed().message)\n            served = None\n',
    ),
    Mutant(
        "the text of a failing engine is sent to the client",
        "T24",
        "doors/server",
        "server/refusals.py",
        "            note(error)\n            return Refusal(status, name, message)\n",
        '            return Refusal(status, name, f"{message} {error}")\n',
    ),
    Mutant(
        "a question is charged though its job was cancelled or its token revoked",
        "T46",
        "doors/server",
        "server/work.py",
        "    leave.check()\n    return _answered(inquiry, inquiry.released(leave.go_on))\n",
        "    return _answered(inquiry, inquiry.released(leave.go_on))\n",
    ),
    Mutant(
        "the log of the server has addresses in place of templates",
        "T24",
        "doors/server",
        "server/gate.py",
        "    return f\"{method} {getattr(route, 'path', UNKNOWN)}\"\n",
        "    return f\"{method} {scope['path'] if route else UNKNOWN}\"\n",
    ),
    Mutant(
        "a file that a link leads to is another table, with a budget of its own",
        "T46",
        "doors/server",
        "engine/given.py",
        "            return bool(mine & others)\n        return self.holds",
        "            return self.path == other.path\n        return self.holds",
    ),
    Mutant(
        "sources of one table and two ledgers are served beside each other if their tables are spelled differently",
        "T46",
        "doors/server",
        "server/sources.py",
        "    if one.source.shares_rows_with(other.source):\n",
        '    if repr(one.source).partition(", ")[2] == repr(other.source).partition(", ")[2]:\n',
    ),
    Mutant(
        "a statistic without a share counts twice beside one that has it",
        "T29",
        "laws/shares",
        "plan/planning.py",
        "    return [weight or Fraction(1) for weight in largest]\n",
        "    return [weight or Fraction(2) for weight in largest]\n",
    ),
    Mutant(
        "a plan in a notebook says another confidence of its error bars",
        "T33",
        "coverage/forms",
        "plan/cell.py",
        "100 * plan.confidence",
        "100 / plan.confidence",
    ),
    # --- what cannot be answered, copies of a ledger, and requests for a higher cap ---
    Mutant(
        "what was charged after a backup was taken may be spent again when it is put back",
        "T26",
        "ledgers/backups",
        "ledger/backup.py",
        'max(min(last["total"], lost.total) - last["spent"] - lost.spent, 0)',
        'max(min(last["total"], lost.total) - last["spent"], 0)',
    ),
    Mutant(
        "a charge whose answer is younger than the backup gets a second answer for free",
        "T26",
        "ledgers/backups",
        "ledger/backup.py",
        "    spending = [*charges, *again]\n",
        "    spending = charges\n",
    ),
    Mutant(
        "the backup of one ledger is put in place of another",
        "T26",
        "ledgers/backups",
        "ledger/backup.py",
        '    if hashes.get(1) != present[0]["hash"]:\n',
        "    if 1 not in hashes:\n",
    ),
    Mutant(
        "a request for a higher cap is decided twice",
        "T45",
        "ledgers/cap_requests",
        "ledger/requests.py",
        '        if asked.state != "open":\n',
        '        if asked.state in ("declined", "withdrawn"):\n',
    ),
    Mutant(
        "an analyst takes back the request of another",
        "T45",
        "ledgers/cap_requests",
        "ledger/requests.py",
        "        if asked is None or analyst not in (None, asked.analyst):\n",
        "        if asked is None:\n",
    ),
    Mutant(
        "more is granted than was asked for",
        "T45",
        "ledgers/cap_requests",
        "ledger/requests.py",
        '            if not mine["cap"] < granted <= asked.cap * NANO:\n',
        '            if not mine["cap"] < granted:\n',
    ),
    Mutant(
        "a statistic loses its weight in JSON",
        "T34",
        "refusals/phrases",
        "question/statistic_json.py",
        '        "weight": statistic.weight,\n',
        "",
    ),
    Mutant(
        "a number of JSON that is not exact is accepted",
        "T16",
        "refusals/phrases",
        "question/statistic_json.py",
        "        if isinstance(value, float):\n",
        "        if False:\n",
    ),
    Mutant(
        "two columns whose names differ only in case are declared",
        "T16",
        "refusals/declarations",
        "question/schema.py",
        "    if len({key.casefold() for key in declared}) != len(declared):\n",
        "    if len(set(declared)) != len(declared):\n",
    ),
    Mutant(
        "bounds of an integer column are rounded away from each other",
        "T16",
        "refusals/declarations",
        "question/schema.py",
        "        bounds = Fraction(math.ceil(bounds[0])), Fraction(math.floor(bounds[1]))\n",
        "        bounds = Fraction(math.floor(bounds[0])), Fraction(math.ceil(bounds[1]))\n",
    ),
    Mutant(
        "a plan ignores the rows per person that it was given",
        "T33",
        "doors/planned",
        "source.py",
        "        schema = self.schema if rows_per_person is None else self.schema.counting(rows_per_person)\n"
        "        plan = plan_asked(",
        "        schema = self.schema\n        plan = plan_asked(",
    ),
)

CANNOT_RUN = tuple(f"the check itself: {error}" for error in ("NameError", "ImportError", "SyntaxError"))
"""What a finding says of a mutant whose text no longer fits the code around it: such a build shows nothing."""


@dataclass(frozen=True)
class Flagged:
    """What a check did with a build: whether a finding failed, which one, and after how many seconds."""

    seen: bool
    told: str
    seconds: float


def flagged(mutant: Mutant | None, check: str) -> Flagged:
    """Run a check, or a part of one, on a build with a fault or without."""
    start = monotonic()
    with tempfile.TemporaryDirectory(prefix="lapwing-mutant-") as folder:
        build(Path(folder), *(() if mutant is None else (mutant.file, mutant.broken().encode())))
        words = [*audit_words(check), "--seed", str(0 if mutant is None else mutant.seed)]
        status, output, errors = ran([sys.executable, "-m", "lapwing", *words], folder, folder, 900)
    found, seconds = failed_findings(output), monotonic() - start
    if found is None:
        return Flagged(False, f"the audit did not run: {errors[-2000:]}", seconds)
    if found and found[0].startswith(CANNOT_RUN):
        return Flagged(False, f"the build cannot run: {found[0]}", seconds)
    return Flagged(status == 1 and bool(found), found[0] if found else "nothing", seconds)


def part_of(faults: Iterable[str], part: int, parts: int, commit: str) -> list[str]:
    """Return one of so many parts of all faults, in the order of a hash of commit and fault: together they are all."""
    return sorted(faults, key=lambda fault: hashlib.sha256(f"{commit} {fault}".encode()).digest())[part - 1 :: parts]


def commit() -> str:
    """Return the commit that is checked out; outside a repository, a hash of the package."""
    words = ["git", "-C", str(PACKAGE), "rev-parse", "HEAD"]
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        modules = (file.read_bytes() for file in sorted(PACKAGE.rglob("*.py")))
        return hashlib.sha256(b"\0".join(modules)).hexdigest()


def build(folder: Path, file: str | None = None, text: bytes = b"") -> None:
    """Copy the package into a folder, with one of its files replaced; the others are not compiled again."""
    copy = folder / "lapwing"
    shutil.copytree(PACKAGE, copy)
    if file is not None:
        (copy / file).write_bytes(text)
        for compiled in (copy / file).parent.glob(f"__pycache__/{Path(file).stem}.*"):
            compiled.unlink()


def audit_words(*checks: str) -> list[str]:
    """Return the words after `lapwing` that run checks in one process, up to the first finding that fails."""
    only = [word for check in checks for word in ("--only", check)]
    return ["audit", *only, "--jobs", "1", "--stop", "--format", "json"]


def failed_findings(output: str) -> list[str] | None:
    """Return the findings that fail in the output of an audit of one check, None if it is not one."""
    found = failures(output)
    return None if found is None else [told for _, told in found]


def failures(output: str) -> list[tuple[str, str]] | None:
    """Return the checks and findings that fail in the output of an audit, None if it is not one."""
    try:
        found = [(check["check"], each) for check in json.loads(output)["checks"] for each in check["findings"]]
        return [(name, f"{each['what']}: {each['told']}") for name, each in found if not each["passed"]]
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
@click.option("--whole", is_flag=True, help="Run whole checks, not the parts that the mutants name.")
@click.option("--intact", is_flag=True, help="Run the same parts on the build as it is, too.")
@click.option("--part", metavar="I/N", help="Only one of N parts, chosen by the commit; and the build as it is.")
def main(only: str | None, whole: bool, intact: bool, part: str | None) -> None:
    """Run the audit on every broken build; the build as it is passes `make audit`."""
    chosen = [each for each in MUTANTS if only is None or only in each.fault]
    if part is not None:
        named = {each.fault: each for each in chosen}
        chosen, intact = [named[fault] for fault in part_of(named, *_parsed(part), commit())], True
        click.echo(f"{len(chosen)} of {len(named)} are chosen by this commit.")
    checks = [each.check.partition("/")[0] if whole else each.check for each in chosen]
    sound = sorted(set(checks)) if intact else []
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results = pool.map(flagged, [None] * len(sound) + chosen, sound + checks)
        alarms = [f"{check}: {found.told}" for check, found in zip(sound, results, strict=False) if found.seen]
        missed = []
        for mutant, check, found in zip(chosen, checks, results, strict=True):
            if not found.seen:
                missed.append(f"{mutant.fault}: {check}: {found.told[-500:]}")
            click.echo(
                f"{'flagged' if found.seen else 'MISSED '} {found.seconds:5.1f} s  {mutant.traps:8} {mutant.fault}"
            )
            click.echo(f"                 {check}: {found.told[:180]}")
    for each in alarms:
        click.echo(f"FALSE ALARM on the build as it is: {each}")
    for each in missed:
        click.echo(f"MISSED: {each}")
    caught, used = len(chosen) - len(missed), getrusage(RUSAGE_CHILDREN)
    by_commit = "" if part is None else f"{len(chosen)} of {len(named)} chosen by this commit: "
    click.echo(f"All of them took {used.ru_utime + used.ru_stime:,.0f} s of processor time.")
    click.echo(f"Mutation score: {by_commit}{caught} of {len(chosen)}, {len(alarms)} false alarms")
    sys.exit(1 if missed or alarms else 0)


def _parsed(part: str) -> tuple[int, int]:
    found = re.fullmatch(r"([1-9]\d{0,2})/([1-9]\d{0,2})", part)
    if found is None or int(found[1]) > int(found[2]):
        raise click.BadParameter("write 1/4 for the first of four parts", param_hint="--part")
    return int(found[1]), int(found[2])


if __name__ == "__main__":
    main()
