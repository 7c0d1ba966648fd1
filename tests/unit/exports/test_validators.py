"""Every export is valid by the tools of its format: pysdmx, frictionless, csvw, csvw-eo, and the registry's schema.

Their requirements conflict with those of other tests: `make exports` runs these tests in an environment of their own.
"""

from __future__ import annotations

import csv
import io
import json
import warnings
from pathlib import Path

import pytest
import yaml

from lapwing.exports.flags import CONF_STATUS, OBS_STATUS
from lapwing.exports.texts import shielded

from ...conftest import NO_VALIDATORS
from ...exported import ANSWERS, HOSTILE, Answers

pytestmark = pytest.mark.usefixtures("frozen_noise")

pysdmx = pytest.importorskip("pysdmx", reason=NO_VALIDATORS)
frictionless = pytest.importorskip("frictionless", reason=NO_VALIDATORS)
csvw = pytest.importorskip("csvw", reason=NO_VALIDATORS)
jsonschema = pytest.importorskip("jsonschema", reason=NO_VALIDATORS)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    csvw_eo = pytest.importorskip("csvw_eo.validate_metadata", reason=NO_VALIDATORS)

HERE = Path(__file__).parent / "data"


@pytest.fixture(params=[*ANSWERS, "safe"])
def packed(request, tmp_path):
    """Each answer, and its package."""
    name = "hostile" if request.param == "safe" else request.param
    answer = Answers(tmp_path)[name]
    answer.package(tmp_path / "package", safe_csv=request.param == "safe")
    return answer, tmp_path / "package"


def in_csv(answer):
    """Return the columns of an answer as texts, with the digits that files have."""
    names, *rows = csv.reader(io.StringIO(answer.to_csv()))
    return dict(zip(names, zip(*rows, strict=True), strict=True))


def number(text):
    """Return the number of a cell, None if it is empty."""
    return {"": None, "true": True, "false": False}[text] if text in ("", "true", "false") else float(text)


def test_pysdmx_reads_the_same_numbers_by_the_structure_and_writes_them_again(packed, tmp_path):
    from pysdmx.io import get_datasets, read_sdmx, write_sdmx
    from pysdmx.io.format import Format

    answer, folder = packed
    structure = folder / "data.sdmx-structure.json"
    message = read_sdmx(structure, validate=True)  # by the JSON schema of SDMX
    assert len(message.structures) >= 4
    [data] = get_datasets(folder / "data.sdmx.csv", structure)
    components = {each.id: each for each in data.structure.components}
    assert set(data.data.columns) == set(components)
    for name, component in components.items():
        if component.enumeration is not None:
            assert set(data.data[name]) <= {code.id for code in component.enumeration}
    assert {code.id: code.name for code in components["OBS_STATUS"].enumeration} == OBS_STATUS
    assert {code.id: code.name for code in components["CONF_STATUS"].enumeration} == CONF_STATUS
    names, written = list(answer.estimates), in_csv(answer)
    for place, name in enumerate(names):
        for column, end in (("OBS_VALUE", ""), ("OBS_LOW", "_low"), ("OBS_HIGH", "_high")):
            found = [None if each is None or each != each else float(each) for each in _cells(data, column)]
            assert found[place :: len(names)] == [number(each) for each in written[f"{name}{end}"]]
    write_sdmx(data, Format.DATA_SDMX_ML_3_0, output_path=tmp_path / "again.xml")  # needs every code and component
    [again] = get_datasets(tmp_path / "again.xml", structure)
    assert len(again.data) == len(data.data)


def _cells(data, column):
    import pandas as pd

    return [None if pd.isna(each) or each == "" else each for each in data.data[column]]


def test_frictionless_finds_no_error_and_reads_the_same_numbers(packed):
    answer, folder = packed
    report = frictionless.validate(str(folder / "datapackage.json"))
    assert report.valid, report.flatten(["type", "note"])
    package = frictionless.Package(str(folder / "datapackage.json"))
    rows = package.get_resource("data-csv").read_rows()
    flat, texts = (list(zip(*each.values(), strict=True)) for each in (answer.flat(), in_csv(answer)))
    assert len(rows) == len(answer)
    for row, due, written in zip(rows, flat, texts, strict=True):
        for found, value, text in zip(row.to_list(), due, written, strict=True):
            if isinstance(value, int | float) and not isinstance(value, bool):
                assert float(found) == float(text)
            elif isinstance(value, str):
                assert str(found) in (value, shielded(value))
            else:
                assert found == value
    assert package.custom["lapwing"]["notes"] == list(answer.notes)


def test_csvw_finds_no_error_and_reads_the_same_numbers(packed):
    answer, folder = packed
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        table = csvw.CSVW(str(folder / "data.csv-metadata.json"), validate=True)
        assert table.is_valid, [str(each.message) for each in table.warnings]
        rows = list(table.t)
    assert [str(each.message) for each in found if issubclass(each.category, UserWarning)] == []
    numbers = [i for i, each in enumerate(answer.flat().values()) if any(isinstance(x, int | float) for x in each)]
    for row, values in zip(rows, zip(*in_csv(answer).values(), strict=True), strict=True):
        cells = list(row.values())
        assert [cells[i] for i in numbers] == [number(values[i]) for i in numbers]


def test_the_metadata_that_is_imported_in_tests_is_metadata_of_csvw_eo():
    found = csvw_eo.validate_metadata(json.loads((HERE / "penguins.json").read_text()))
    assert found.privacy_unit == "penguin"


def test_the_record_is_refused_by_the_schema_of_the_registry_until_its_owner_has_filled_it_in(packed):
    _, folder = packed
    schema = yaml.safe_load((HERE / "registry-schema.yaml").read_text())
    record = yaml.safe_load((folder / "registry.yaml").read_text())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(record, schema)
    basic, model = (record["deployment"][name] for name in ("basic", "deployment_model"))
    basic["data_curators"][0] = {"data_curator_name": "Office", "data_curator_type": "Government"}
    basic["data_product_sector"] = "Healthcare"
    model |= {"release_type": "One release", "data_source_type": "Static", "access_type": "Non-interactive"}
    jsonschema.validate(record, schema, format_checker=jsonschema.FormatChecker())


def test_hostile_keys_are_in_the_code_list_and_in_the_enumeration(tmp_path):
    Answers(tmp_path)["hostile"].package(tmp_path / "package")
    table = frictionless.Package(str(tmp_path / "package" / "datapackage.json")).get_resource("data-csv")
    assert [row.to_list()[0] for row in table.read_rows()] == list(HOSTILE)
