"""A table with its margins, asked as one question: cells, row totals, column totals and the total, all adding up.

The totals are not measured again at a new price: all tables share one ε, and cells sum to them to the last digit.
"""

import altair as alt
import numpy as np
import pandas as pd
from look import save

import lapwing as lw

random = np.random.default_rng(3)
wards, ages = ["heart", "skin", "eyes", "surgery"], ["0–17", "18–39", "40–64", "65+"]
people = pd.DataFrame({"ward": random.choice(wards, 6000, p=[0.2, 0.15, 0.05, 0.6]), "age": random.choice(ages, 6000)})
source = lw.Source(
    people, name="people", columns={"ward": lw.keys(*wards), "age": lw.keys(*ages)}, epsilon=1, ledger="cube.ledger"
)
answer = source.release(lw.count(), by=lw.cube("ward", "age"), epsilon=1)

cells = answer.table("ward", "age")["count"].value
assert cells.sum() == answer.table("ward")["count"].value.sum() == answer.table()["count"].value[0]

table = answer.to_pandas().fillna({"ward": "Total", "age": "Total"})
table["bar"] = (table["count_high"] - table["count_low"]) / 2
table["text"] = [f"{count:,.0f} ± {bar:.0f}" for count, bar in zip(table["count"], table["bar"], strict=True)]
table["is_total"] = (table["ward"] == "Total") | (table["age"] == "Total")
x = alt.X("age:N", title="age, years", sort=[*ages, "Total"]).axis(labelAngle=0, orient="top")
base = alt.Chart(table).encode(x, alt.Y("ward:N", title="ward", sort=[*wards, "Total"]))
shade = alt.condition(
    "datum.is_total", alt.value("#eef1f4"), alt.Color("count:Q", legend=None).scale(scheme="blues", domain=[0, 2000])
)
title = alt.Title(
    "People by ward and age, with 95 % error bars", subtitle="One question at ε = 1; rows and columns add up"
)
chart = base.mark_rect().encode(color=shade) + base.mark_text(fontSize=12).encode(text="text:N")
save(chart.properties(width=480, height=220, title=title), "cube")
