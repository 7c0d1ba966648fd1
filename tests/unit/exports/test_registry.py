"""The record for the registry: what is known is said, the rest is left to the owner, and nothing in it is markup."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest
import yaml

import lapwing as lw
from lapwing.exports.registry import Blank, _record

from ...exported import Answers, source

pytestmark = pytest.mark.usefixtures("frozen_noise")


@pytest.fixture
def made(tmp_path):
    return Answers(tmp_path)


def registered(folder):
    return yaml.safe_load((folder / "registry.yaml").read_text())["deployment"]


def blanks(value):
    if isinstance(value, dict):
        return [each for some in value.values() for each in blanks(some)]
    if isinstance(value, list):
        return [each for some in value for each in blanks(some)]
    return [value] if isinstance(value, Blank) else []


def test_the_record_says_what_is_known_and_leaves_the_rest_to_the_owner(made, tmp_path):
    made["table"].package(tmp_path / "a", only="registry")
    text = (tmp_path / "a" / "registry.yaml").read_text()
    record = yaml.safe_load(text)
    assert text.count("# fill in") == len(blanks(_record(made["table"])))
    deployment = record["deployment"]
    assert deployment["implementation"]["justification"] == ""
    assert deployment["dp_variant"]["variant_name"] == "Pure DP"
    assert "adding or removing all rows with one value of `p`" in deployment["privacy_loss"]["privacy_unit_details"]
    assert "number_of_privacy_units" not in deployment["privacy_loss"]  # it is private
    assert "permute-and-flip" not in deployment["implementation"]["mechanisms"]
    made["days"].package(tmp_path / "b", only="registry")
    text = (tmp_path / "b" / "registry.yaml").read_text()
    assert "permute-and-flip" in text
    public = source(tmp_path, neighbors="change_one", person=None, rows_per_person=None, public_rows=True)
    public.release(lw.mean("pay"), epsilon=1).package(tmp_path / "c", only="registry")
    assert '"The number of rows. Public' in (tmp_path / "c" / "registry.yaml").read_text()


def test_the_record_speaks_of_error_bars_only_where_there_are_some(made, tmp_path):
    made["no bars"].package(tmp_path / "a", only=["registry", "csvw"])
    assert registered(tmp_path / "a")["implementation"]["utility"] == "Published without error bars: `median_pay`."
    csvw = json.loads((tmp_path / "a" / "data.csv-metadata.json").read_text())
    assert not any("95 %" in each["dc:description"] for each in csvw["tableSchema"]["columns"])
    made["table"].package(tmp_path / "b", only="registry")
    utility = registered(tmp_path / "b")["implementation"]["utility"]
    assert utility.startswith("Every number is published with a 95 % error bar")


def test_the_record_says_what_delta_is_and_what_is_not_protected(made, tmp_path):
    for name in ("plain", "days"):
        made[name].package(tmp_path / name, only="registry")
        composition = registered(tmp_path / name)["implementation"]["composition"]
        assert composition.startswith("Sequential over releases: ε and δ add up, and δ of this release is 0.")
    assert registered(tmp_path / "days")["dp_variant"]["unprotected_quantities"].startswith("None is released")
    (tmp_path / "b").mkdir()
    changed = source(tmp_path / "b", neighbors="change_one")
    changed.release(lw.count(), by="sex", epsilon=1).package(tmp_path / "c", only="registry")
    unprotected = registered(tmp_path / "c")["dp_variant"]["unprotected_quantities"]
    assert unprotected.startswith("The number of people is not protected (change_one).")


MARKUP = "<b>x</b> [a](http://b) `c` *d* ${e} www.f @g"


def texts(value):
    if isinstance(value, dict | list):
        return [each for some in (value.values() if isinstance(value, dict) else value) for each in texts(some)]
    return [str(value)]


def test_nothing_that_others_wrote_is_markup_in_the_record(tmp_path):
    frame = pd.DataFrame({f"k{MARKUP}": ["a", MARKUP, "b"], f"p{MARKUP}": [1, 2, 3], f"x{MARKUP}": [1, 2, 3]})
    asked = lw.Source(
        frame, name=MARKUP, person=f"p{MARKUP}", rows_per_person=1, epsilon=9, ledger=str(tmp_path / "t.ledger"),
        columns={
            f"k{MARKUP}": lw.keys(f"a{MARKUP}", other=MARKUP, missing=[f"b{MARKUP}"], title=MARKUP, unit=MARKUP),
            f"x{MARKUP}": lw.number(0, 9, missing=[99]),
        },
    )  # fmt: skip
    answer = asked.release(lw.count(name=MARKUP), lw.mean(f"x{MARKUP}"), by=f"k{MARKUP}", epsilon=1)
    for made in (answer, answer.share(), answer.difference(by=f"k{MARKUP}", of=f"a{MARKUP}", to=MARKUP)):
        made.package(tmp_path / "a", only="registry", force=True)
        said = texts(registered(tmp_path / "a"))
        assert sum(MARKUP in each for each in said) >= 4
        for each in said:
            plain = re.sub(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", "", each)  # without code spans
            assert not re.search(r"[`<*\[$@]|://|www", plain), plain
    record = registered(tmp_path / "a")
    assert f"other `` {MARKUP} ``, missing `` b{MARKUP} ``" in record["dp_variant"]["data_domain"]
    assert MARKUP in record["basic"]["description"]
