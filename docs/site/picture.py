"""Draw the picture of the first page, docs/first.svg: a release of invented visits, as the page makes it."""

from __future__ import annotations

import os
import re
import tempfile
from html import escape
from pathlib import Path

import lapwing as lw

DOCS = Path(__file__).parents[1]
LEFT, RIGHT, TOP, STEP, WIDTH = 110, 560, 64, 40, 640
INK, GREY, BAR, WHISKER = "#1f2933", "#66727d", "#9fd0d8", "#0b5c6b"


def main() -> None:
    """Run the Python of the first page, and draw the answer that it makes."""
    page = (DOCS / "README.md").read_text()
    names: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as home:
        os.environ["XDG_DATA_HOME"] = home  # a ledger of its own for every picture
        exec(re.search(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)[1], names)
    (DOCS / "first.svg").write_text(picture(names["answer"]))


def picture(answer: lw.Release) -> str:
    """Return the counts of an answer as bars with error bars, on a white ground of its own."""
    rows = [(str(row["ward"]), row["count"]) for row in answer.to_dict()["rows"]]
    most = max(each["high"] for _, each in rows) * 1.05
    bottom = TOP + STEP * len(rows)

    def x(value: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * value / most, 1)

    told = "; ".join(f"{ward} {each['value']}, from {each['low']} to {each['high']}" for ward, each in rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 34}" width="{WIDTH}" role="img"'
        ' font-family="system-ui, sans-serif" font-size="14">',
        f"<title>Patients by ward, with error bars</title><desc>{escape(told)}</desc>",
        f'<rect width="100%" height="100%" rx="8" fill="#ffffff"/><g fill="{INK}">',
        '<text x="16" y="28" font-size="16" font-weight="600">Patients by ward, as published</text>',
        f'<text x="16" y="48" font-size="13" fill="{GREY}">ε = 0.2: no one patient changes the '
        "probability of any outcome by more than 22 %</text>",
    ]
    for value in range(0, int(most) + 1, 100):
        parts.append(f'<path d="M{x(value)} {TOP}V{bottom}" stroke="#e3e8ec"/>')
        parts.append(f'<text x="{x(value)}" y="{bottom + 18}" text-anchor="middle" fill="{GREY}">{value}</text>')
    for place, (ward, each) in enumerate(rows):
        y = TOP + STEP * place + STEP / 2
        low, value, high = (x(each[name]) for name in ("low", "value", "high"))
        margin = each["high"] - each["value"]
        parts += [
            f'<text x="{LEFT - 10}" y="{y + 5}" text-anchor="end">{escape(ward)}</text>',
            f'<rect x="{LEFT}" y="{y - 12}" width="{round(value - LEFT, 1)}" height="24" fill="{BAR}"/>',
            f'<path d="M{low} {y}H{high}M{low} {y - 6}v12M{high} {y - 6}v12" stroke="{WHISKER}" stroke-width="2"/>',
            f'<text x="{high + 8}" y="{y + 5}">{each["value"]} ± {margin}</text>',
        ]
    return "\n".join([*parts, "</g></svg>\n"])


if __name__ == "__main__":
    main()
