"""SDMX-CSV 2.0 of an answer, one row for each number, and the structure message that a reader validates it with.

Dimensions are the keys and INDICATOR, which statistic it is; the measure is OBS_VALUE; attributes are the ends of the
error bar (OBS_LOW, OBS_HIGH), OBS_STATUS, CONF_STATUS, NOISE and UNIT_MEASURE.  Keys become codes, and what they are
in words is in the code lists.  A row that is summed over a key has the code _T there.

Formats: SDMX-CSV 2.0 and SDMX-JSON 2.0 (sdmx-twg, field guides), with SDMX 3.0 structures.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TextIO

from ..question.codes import Key
from ..release.result import Release
from ..report import printable
from .described import Answer, ExportColumn, cell_text, facts_of, identity_of, title_of
from .flags import CONF_STATUS, FREE, NOISE_CODES, OBS_STATUS, obs_status
from .texts import identifier

AGENCY, VERSION = "LAPWING", "1.0.0"
TOTAL = "_T"
"""The code of rows that are summed over a key, as SDMX's guidelines for code lists have it."""

_SCHEMA = (
    "https://raw.githubusercontent.com/sdmx-twg/sdmx-json/develop/structure-message/tools/schemas/2.0.0/"
    "sdmx-json-structure-schema.json"
)
"""By this name, readers know the version of the message."""

_URN = "urn:sdmx:org.sdmx.infomodel"
_NUMBERS = ("OBS_VALUE", "OBS_LOW", "OBS_HIGH")
_CODED = ("INDICATOR", "OBS_STATUS", "CONF_STATUS", "NOISE", "UNIT_MEASURE")
_FIXED = ("STRUCTURE", "STRUCTURE_ID", "ACTION", "SERIES_KEY", "OBS_KEY", *_NUMBERS, *_CODED)
_WITHOUT_UNIT = "_Z"

Codes = Mapping[str, tuple[str, str]]
"""By code: its name, and what it is."""


@dataclass(frozen=True)
class SdmxDimension:
    """A key as a dimension: its identifier, its column in the data, the code of each key, and the code list."""

    id: str
    column: str
    name: str
    code: Mapping[Key | None, str]
    codes: Codes


@dataclass(frozen=True)
class SdmxTables:
    """How an answer is written as SDMX."""

    answer: Answer
    columns: Sequence[ExportColumn]

    @cached_property
    def id(self) -> str:
        """The identifier of the data flow; a comparison has another than its release."""
        name, *more = identity_of(self.answer)
        return "_".join([identifier(name, set(), letter=True), *more]).upper()

    @cached_property
    def dimensions(self) -> list[SdmxDimension]:
        """The keys of the answer, in their order."""
        taken = set(_FIXED)
        labels = {each.of: each.values for each in self.columns if each.role == "label"}
        found = []
        for each in self.columns:
            if each.role == "key":
                code, codes = _codes(each.values, labels.get(each.name, ()), totals=each.totals)
                name = each.title or each.name
                found.append(SdmxDimension(identifier(each.name, taken, letter=True), each.name, name, code, codes))
        return found

    @cached_property
    def indicators(self) -> dict[str, tuple[str, str]]:
        """By statistic: its code, and the code of its unit."""
        units: dict[str, str] = {}
        taken, taken_units = set[str](), {_WITHOUT_UNIT}
        found = {}
        for each in self._values:
            if each.unit is not None and each.unit not in units:
                units[each.unit] = identifier(each.unit, taken_units)
            found[each.name] = identifier(each.name, taken), units.get(each.unit or "", _WITHOUT_UNIT)
        return found

    @property
    def _values(self) -> list[ExportColumn]:
        return [each for each in self.columns if each.role == "value"]

    @property
    def header(self) -> list[str]:
        """The names of the columns."""
        keys = [each.id for each in self.dimensions]
        fixed = ["OBS_VALUE", "OBS_LOW", "OBS_HIGH", "OBS_STATUS", "CONF_STATUS", "NOISE", "UNIT_MEASURE"]
        return ["STRUCTURE", "STRUCTURE_ID", "ACTION", *keys, "INDICATOR", *fixed]

    def write(self, file: TextIO, pieces: Iterable[Mapping[str, Sequence[Any]]]) -> None:
        """Write all rows; ``pieces`` are the columns of the answer, some groups at a time."""
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(self.header)
        for piece in pieces:
            writer.writerows(self._rows(piece))

    def _rows(self, piece: Mapping[str, Sequence[Any]]) -> Iterable[list[Any]]:
        first = ["dataflow", f"{AGENCY}:{self.id}({VERSION})", "I"]
        keys = [[each.code[key] for key in piece[each.column]] for each in self.dimensions]
        flag = self._flag
        statistics = [
            (*self.indicators[each.name], *(piece[f"{each.name}{end}"] for end in ("", "_low", "_high", "_noise")))
            for each in self._values
        ]
        for i in range(len(next(iter(piece.values())))):
            key = [column[i] for column in keys]
            for code, unit, values, lows, highs, marks in statistics:
                numbers = ["" if end[i] is None else repr(end[i]) for end in (values, lows, highs)]
                status = flag(marks[i], values[i] is None)
                yield [*first, *key, code, *numbers, status, FREE, NOISE_CODES[marks[i]], unit]

    @property
    def _flag(self) -> Callable[[str, bool], str]:
        fitted = isinstance(self.answer, Release) and self.answer.view == "nonnegative"
        suppressed = self.answer.suppress
        return lambda mark, missing: obs_status(mark, missing=missing, suppressed=suppressed, fitted=fitted)

    # --- the structure message ---

    def structure(self, prepared: str) -> dict[str, Any]:
        """Return the structure message, SDMX-JSON 2.0: code lists, concepts, data structure and data flow."""
        title = printable(title_of(self.answer))
        flow = {
            **_artefact(self.id, title),
            "structure": f"{_URN}.datastructure.DataStructure={AGENCY}:{self.id}({VERSION})",
            "annotations": _annotations(self.answer),
        }
        return {
            "meta": {
                "id": f"{self.id}_STRUCTURE",
                "prepared": prepared,
                "sender": {"id": AGENCY},
                "schema": _SCHEMA,
                "contentLanguages": ["en"],
            },
            "data": {
                "codelists": [self._codelist(name, codes) for name, codes in self._lists.items()],
                "conceptSchemes": [{**_artefact(f"CS_{self.id}", title), "concepts": self._concepts}],
                "dataStructures": [{**_artefact(self.id, title), "dataStructureComponents": self._components}],
                "dataflows": [flow],
            },
        }

    @cached_property
    def _lists(self) -> dict[str, Codes]:
        """The code lists, by the component that has them."""
        units = {
            self.indicators[each.name][1]: (printable(each.unit), "") for each in self._values if each.unit is not None
        }
        return {
            **{each.id: each.codes for each in self.dimensions},
            "INDICATOR": {
                self.indicators[each.name][0]: (printable(each.title or each.name), printable(each.description))
                for each in self._values
            },
            "OBS_STATUS": {code: (name, "") for code, name in OBS_STATUS.items()},
            "CONF_STATUS": {code: (name, "") for code, name in CONF_STATUS.items()},
            "NOISE": {code: (mark, "") for mark, code in NOISE_CODES.items()},
            "UNIT_MEASURE": {**units, _WITHOUT_UNIT: ("Not applicable", "")},
        }

    def _codelist(self, component: str, codes: Codes) -> dict[str, Any]:
        items = [
            {"id": code, "name": name or "(empty)", **({"description": said} if said else {})}
            for code, (name, said) in codes.items()
        ]
        return {**_artefact(self._list_id(component), component), "codes": items}

    def _list_id(self, component: str) -> str:
        return f"CL_{component}" if component in ("OBS_STATUS", "CONF_STATUS") else f"CL_{self.id}_{component}"

    @property
    def _concepts(self) -> list[dict[str, str]]:
        names = {
            **{each.id: printable(each.name) for each in self.dimensions},
            "INDICATOR": "Statistic",
            "OBS_VALUE": "Released number",
            "OBS_LOW": "Lower end of the error bar",
            "OBS_HIGH": "Upper end of the error bar",
            "OBS_STATUS": "Observation status",
            "CONF_STATUS": "Confidentiality status",
            "NOISE": "Noise: low, medium or high, by the width of the error bar",
            "UNIT_MEASURE": "Unit of measure",
        }
        return [{"id": each, "name": name} for each, name in names.items()]

    @property
    def _components(self) -> dict[str, Any]:
        attributes = ["OBS_LOW", "OBS_HIGH", "OBS_STATUS", "CONF_STATUS", "NOISE", "UNIT_MEASURE"]
        return {
            "dimensionList": {
                "id": "DimensionDescriptor",
                "dimensions": [self._component(each) for each in (*(d.id for d in self.dimensions), "INDICATOR")],
            },
            "measureList": {
                "id": "MeasureDescriptor",
                "measures": [{**self._component("OBS_VALUE"), "usage": "optional"}],
            },
            "attributeList": {
                "id": "AttributeDescriptor",
                "attributes": [
                    {
                        **self._component(each),
                        "usage": "optional",
                        "attributeRelationship": {"observation": {}},
                        "measureRelationship": ["OBS_VALUE"],
                    }
                    for each in attributes
                ],
            },
        }

    def _component(self, id_: str) -> dict[str, Any]:
        if id_ in _NUMBERS:
            shown: dict[str, Any] = {"format": {"dataType": "Double"}}
        else:
            shown = {"enumeration": f"{_URN}.codelist.Codelist={AGENCY}:{self._list_id(id_)}({VERSION})"}
        concept = f"{_URN}.conceptscheme.Concept={AGENCY}:CS_{self.id}({VERSION}).{id_}"
        return {"id": id_, "conceptIdentity": concept, "localRepresentation": shown}


def _artefact(id_: str, name: str) -> dict[str, Any]:
    return {"id": id_, "agencyID": AGENCY, "version": VERSION, "name": name}


def _annotations(answer: Answer) -> list[dict[str, str]]:
    """Return the public parameters as annotations."""
    shown = ("question", "epsilon", "protects", "neighbors", "confidence", "recorded_at", "software")
    facts = facts_of(answer)
    found = [{"id": name, "type": "lapwing", "value": printable(str(facts[name]))} for name in shown if facts[name]]
    return [*found, {"id": "notes", "type": "lapwing", "value": printable(" ".join(facts["notes"]))}]


def _codes(
    values: Sequence[Key], labels: Sequence[object], *, totals: bool
) -> tuple[dict[Key | None, str], dict[str, tuple[str, str]]]:
    """Return the code of each key, and the names of the codes; a key that is a code of SDMX is its own code."""
    code: dict[Key | None, str] = {}
    texts = [cell_text(each) for each in values]
    taken = {TOTAL}
    for value, text in zip(values, texts, strict=True):
        own = {True: "Y", False: "N"}[value] if isinstance(value, bool) else text  # programs read true as they like
        if re.fullmatch(r"[A-Za-z0-9_@$\-]+", own) and own.upper() not in taken:
            taken.add(own.upper())
            code[value] = own
    for place, value in enumerate(values, 1):
        if value not in code:
            found = f"K{place}"
            while found in taken:
                found += "_"
            taken.add(found)
            code[value] = found
    codes = {}
    for place, (value, text) in enumerate(zip(values, texts, strict=True)):
        name = str(labels[place]) if labels else text
        codes[code[value]] = printable(name), "" if text in (code[value], name) else printable(text)
    if totals:
        code[None] = TOTAL
        codes[TOTAL] = "Total", ""
    return code, codes
