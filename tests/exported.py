"""Answers to export: with keys, labels, dates, bins, totals, hostile texts, and all that can be done with a release."""

from __future__ import annotations

import datetime as dt
from functools import cached_property

import pandas as pd

import lapwing as lw

HOSTILE = {
    "=1+1": "HYPERLINK(1)",
    "+cmd": "<script>alert(1)</script>",
    "-2,5;x": '"quoted"',
    "@sum": "</script>",
    "a\r\nb": "two lines",
    "\u202erev": "right to left",
    "x" * 3000: "long",
    "'t": "apostrophe",
    "_x0041_": "like an escape",
    "a: b": "{{x}} ${y} `z`",
    "x;=1+1": 'y;"=2"',
    "x\n=3": "x @sum",
}
DAYS = [dt.date(2020, 1, 1), dt.date(2021, 7, 1)]


def source(folder, **more):
    """A table of people whose keys are well-behaved."""
    n = 1200
    frame = pd.DataFrame(
        {
            "p": [f"p{i // 2}" for i in range(n)],
            "sex": ["F", "M"] * (n // 2),
            "age": [i % 90 for i in range(n)],
            "day": [DAYS[i % 2] for i in range(n)],
            "ok": [i % 3 == 0 for i in range(n)],
            "pay": [float(i % 50) for i in range(n)],
            "k": [i % 3 - 1 for i in range(n)],
        }
    )
    columns = {
        "sex": lw.keys({"F": "women", "M": "men"}, other="rest", title="Sex"),
        "age": lw.number(0, 120, integer=True, edges=[0, 18, 120], labels=["child", "adult"], unit="years"),
        "day": lw.keys(*DAYS),
        "ok": lw.keys(False, True),
        "pay": lw.number(0, 40, unit="euro/hour", title="Pay"),
        "k": lw.keys(-1, 0, 1),
    }
    given = {"person": "p", "rows_per_person": 2, "epsilon": 900, "ledger": str(folder / "t.ledger"), **more}
    return lw.Source(frame, **{"name": "visits", "columns": columns, **given})


def hostile(folder):
    """A table whose names, keys, labels, units and titles are what nobody wants in a file."""
    frame = pd.DataFrame({"=key": list(HOSTILE) * 20, "x": [1.5] * (20 * len(HOSTILE))})
    columns = {
        "=key": lw.keys(HOSTILE, title="</script><b>&amp;"),
        "x": lw.number(0, 2, unit="a: b <i>", title='(=1+1) "t"'),
    }
    name = "<b>=x</b> `y` ${z}"
    return lw.Source(frame, name=name, columns=columns, epsilon=90, ledger=str(folder / "h.ledger"))


class Answers:
    """Answers of all kinds, by name; each is made when it is wanted."""

    def __init__(self, folder):
        self.folder = folder

    @cached_property
    def asked(self):
        return source(self.folder)

    @cached_property
    def bad(self):
        return hostile(self.folder)

    @cached_property
    def table(self):
        asked = lw.count(name="n"), lw.mean("pay"), lw.sum("pay")
        return self.asked.release(*asked, by=["sex", "age", "ok"], epsilon=20)

    @cached_property
    def cube(self):
        return self.asked.release(lw.count(name="n"), by=lw.cube("sex", "age"), epsilon=5)

    @cached_property
    def many(self):
        return self.asked.release(lw.count(name="n"), by=["sex", "age", "ok", "day", "k"], epsilon="0.05")

    def __getitem__(self, name):
        return ANSWERS[name](self)


ANSWERS = {
    "table": lambda made: made.table,
    "days": lambda made: made.asked.release(lw.count(), lw.median("pay"), by=["day", "k"], epsilon=5),
    "cube": lambda made: made.cube,
    "whole": lambda made: made.cube.nonnegative(rounded=True),
    "one": lambda made: made.cube.table("sex"),
    "plain": lambda made: made.asked.release(lw.count(), lw.variance("pay"), epsilon=1),
    "noisy": lambda made: made.many.suppressed(),
    "clipped": lambda made: made.many.nonnegative(),
    "no bars": lambda made: made.asked.release(lw.median("pay"), by="sex", epsilon=1, intervals=False),
    "cut": lambda made: made.table.cut("n >= 1", order_by="n DESC", limit=3),
    "difference": lambda made: made.table.difference(by="sex", of="F", to="M"),
    "share": lambda made: made.table.share().at(simultaneous=True),
    "hostile": lambda made: made.bad.release(lw.count(name="=n"), lw.mean("x", name="@m"), by="=key", epsilon=9),
    "hostile total": lambda made: made.bad.release(lw.count(), by=lw.rollup("=key"), epsilon=9),
}
