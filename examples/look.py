"""How the pictures look, and where they go: the folder in which a script runs, as SVG."""

import altair as alt

from lapwing.charts.theme import dressed


def save(chart: alt.TopLevelMixin, name: str) -> None:
    """Write a chart to ``name``.svg, with space in its legend for browsers whose letters are wider."""
    picture = dressed(chart, "light")
    picture.config = {**picture.config, "legend": {**picture.config["legend"], "columnPadding": 30}}
    picture.save(f"{name}.svg")
