"""Charts as Vega-Lite draws them: every warning is an error."""

import json
from xml.etree import ElementTree

import pytest

vl_convert = pytest.importorskip("vl_convert", reason="vl-convert is not installed here: `make install` brings it")
pytest.importorskip("altair", reason="altair is not installed here: `make install` brings it")


def drawn(chart, capfd):
    """Return the texts in the picture of a chart, which must be drawn without a warning."""
    capfd.readouterr()
    svg = vl_convert.vegalite_to_svg(chart.to_dict(), show_warnings=True)
    assert capfd.readouterr().err == ""
    return texts(svg)


def texts(svg):
    """Return the lines of text in a picture."""
    found = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return [line for each in found for line in each.itertext()]


def rows(chart):
    """Return the data of a chart, of all of its panels."""
    return [row for panel in data(chart).values() for row in panel]


def data(chart):
    """Return the data of a chart by their names."""
    return chart.to_dict()["datasets"]


def words(chart):
    """Return the subtitle of a chart as one text."""
    title = chart.to_dict()["title"]
    return " ".join(title.get("subtitle", []))


def whole(chart):
    """Return a chart as text."""
    return json.dumps(chart.to_dict(), ensure_ascii=False)
