"""Charts as files: SVG and PNG without a browser, the Vega-Lite of a chart, and a page that needs no network.

vl-convert has the libraries of Vega in it, and draws with them.  A page has them in it as well; its policy forbids the
browser to load anything from elsewhere.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from os import PathLike, fspath
from typing import Any

from ..optional import library
from .theme import THEMES

ENDINGS = {".svg": "svg", ".png": "png", ".vl.json": "vega-lite", ".html": "page"}
"""The endings of files that hold charts, and what these are called here."""

_SHARP, _LARGE = 2, 6_000
"""How many pixels of a PNG each pixel of a chart has in each direction, unless the chart is this long."""

_SHOW = """
const spec = JSON.parse(document.getElementById("spec").textContent);
const actions = {export: true, source: false, compiled: false, editor: false};
vegaEmbed("#chart", spec, {mode: "vega-lite", renderer: "svg", actions});
"""

_POLICY = "default-src 'none'; script-src '{script}' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"
"""Only the page's own script runs, by its hash; the styles are Vega's."""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ margin: 0; background: {background}; }}
#chart {{ display: block; overflow-x: auto; }}
#chart svg.marks {{ max-width: 100%; min-width: 340px; height: auto; }}
</style>
</head>
<body>
<main><div id="chart" role="figure" aria-label="{told}"></div></main>
<script type="application/json" id="spec">{spec}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def form_of(path: str | PathLike[str]) -> str | None:
    """Return what kind of chart a file is by its name, or None."""
    name = fspath(path).casefold()
    return next((form for ending, form in ENDINGS.items() if name.endswith(ending)), None)


def check_drawing(form: str) -> None:
    """Refuse, before anything is charged, what needs libraries that are not there."""
    library("altair", "plot")
    if form != "vega-lite":
        _converter()


def picture(chart: Any, form: str) -> bytes:
    """Return a chart as a file."""
    spec = chart.to_dict()
    if form == "vega-lite":
        return (json.dumps(spec, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "backslashreplace")
    convert = _converter()
    version = _version(convert, str(spec["$schema"]))
    if form == "svg":
        return str(convert.vegalite_to_svg(spec, vl_version=version)).encode()
    if form == "page":
        return _page(convert, spec, version).encode()
    drawn = convert.vegalite_to_svg(spec, vl_version=version)
    return bytes(convert.svg_to_png(drawn, scale=_SHARP if _length(drawn) <= _LARGE else 1))


def _converter() -> Any:
    return library("vl_convert", "plot")


def _version(convert: Any, schema: str) -> str:
    """Return the version of Vega-Lite that a chart is for, such as 6.4 of …/v6.4.1.json; else the newest of all."""
    asked = ".".join(schema.rpartition("/v")[2].removesuffix(".json").split(".")[:2])
    known: list[str] = convert.get_vegalite_versions()
    return asked if asked in known else known[-1]


def _length(svg: str) -> float:
    """Return the longer side of a picture, by its view box."""
    box = svg.partition('viewBox="')[2].partition('"')[0].split()
    return max(map(float, box[2:]), default=0.0)


def _page(convert: Any, spec: dict[str, Any], version: str) -> str:
    """Return a page that shows a chart: no text of the chart can end the script, and nothing is loaded."""
    plain = {name: value for name, value in spec.items() if name != "$schema"}
    escaped = json.dumps(plain).replace("<", "\\u003c")  # ASCII, so that no text can be more than a text
    told = str(spec.get("description", "A chart"))
    background = spec.get("config", {}).get("background", THEMES["light"].background)
    script = str(convert.javascript_bundle(_SHOW, vl_version=version)).replace("</script", "<\\/script")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = _POLICY.format(script=f"sha256-{digest}")
    return _PAGE.format(
        policy=html.escape(policy, quote=False), title=html.escape(told[:120]), told=html.escape(told), spec=escaped,
        script=script, background=html.escape(str(background)),
    )  # fmt: skip
