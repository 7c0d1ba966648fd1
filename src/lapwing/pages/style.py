"""How all pages look: light and dark, on paper, on a narrow screen.  Every rule is for what is inside ``.lapwing``.

Texts have a contrast of at least 4.5 : 1 to what is behind them, in both schemes.
"""

from __future__ import annotations

LIGHT = {
    "text": "#1b1d21", "quiet": "#555b66", "back": "#ffffff", "card": "#f4f6f9", "line": "#d5d9e0", "grid": "#e6e9ee",
    "axis": "#555b66", "bar": "#2f55b8", "mark": "#fff1c9", "marked": "#5a4500", "link": "#1f4fb5", "bad": "#a11212",
}  # fmt: skip
DARK = {
    "text": "#e9ebef", "quiet": "#b3b9c4", "back": "#15181d", "card": "#20252c", "line": "#3a414c", "grid": "#2b313a",
    "axis": "#b3b9c4", "bar": "#8fb2ff", "mark": "#4a3b10", "marked": "#ffe39a", "link": "#9dbcff", "bad": "#ff9a9a",
}  # fmt: skip


def _scheme(colors: dict[str, str]) -> str:
    return " ".join(f"--lw-{name}: {color};" for name, color in colors.items())


STYLE = (
    f"""
.lapwing {{ {_scheme(LIGHT)} color-scheme: light; color: var(--lw-text); background: var(--lw-back);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: anywhere; }}
@media (prefers-color-scheme: dark) {{ .lapwing {{ {_scheme(DARK)} color-scheme: dark; }} }}
[data-jp-theme-light="true"] .lapwing, .vscode-light .lapwing {{ {_scheme(LIGHT)} color-scheme: light; }}
[data-jp-theme-light="false"] .lapwing, .vscode-dark .lapwing {{ {_scheme(DARK)} color-scheme: dark; }}
""".strip()
    + """
.lapwing.cell { font-size: 14px; padding: .6rem .8rem; border-radius: .4rem; }
.lapwing h1, .lapwing h2, .lapwing h3 { line-height: 1.25; margin: 1.6rem 0 .5rem; color: inherit; }
.lapwing h1 { font-size: 1.9rem; margin-top: .2rem; } .lapwing h2 { font-size: 1.35rem; margin-top: 2.2rem; }
.lapwing h3 { font-size: 1.05rem; } .lapwing p { margin: .5rem 0; max-width: 46rem; }
.lapwing a { color: var(--lw-link); } .lapwing .quiet { color: var(--lw-quiet); }
.lapwing .lead { font-size: 1.1rem; } .lapwing .kicker { color: var(--lw-quiet); margin: 0; }
.lapwing .scroll { overflow-x: auto; max-width: 100%; margin: .6rem 0; }
.lapwing .scroll:focus-visible { outline: 2px solid var(--lw-link); }
.lapwing table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 0; width: max-content;
  color: inherit; }
.lapwing caption { text-align: left; color: var(--lw-quiet); padding: .3rem 0; }
.lapwing caption span { display: block; position: sticky; left: 0; width: fit-content;
  max-width: calc(100vw - 2.5rem); }
.lapwing th, .lapwing td { padding: .25rem .55rem; border: 0; border-bottom: 1px solid var(--lw-line);
  text-align: right;
  vertical-align: middle; background: transparent; color: inherit; font-weight: normal; overflow-wrap: normal; }
.lapwing thead th { border-bottom: 2px solid var(--lw-axis); font-weight: 600; vertical-align: bottom; }
.lapwing th.key, .lapwing td.key { text-align: left; max-width: 24rem; overflow-wrap: anywhere; }
.lapwing td.key, .lapwing th.key { unicode-bidi: isolate; min-width: 4rem; }
.lapwing .range { white-space: nowrap; } .lapwing .one td.draw div { display: flex; align-items: center; gap: .7rem; }
.lapwing td.draw .range { display: block; font-size: .85em; line-height: 1.25; margin: 0 0 .15rem .8rem; }
 .lapwing .one td.draw .range { font-size: 1em; margin: 0; }
.lapwing td.draw, .lapwing th.draw { padding: .15rem .4rem; text-align: left; }
.lapwing thead th.draw { padding-bottom: 0; }
.lapwing .unit { font-weight: normal; color: var(--lw-quiet); }
.lapwing tbody + tbody tr:first-child > * { border-top: 2px solid var(--lw-axis); }
.lapwing tr.again .outer { color: var(--lw-quiet); } .lapwing tr:not(.again) > .outer { font-weight: 600; }
.lapwing tr.total > * { font-style: italic; }
.lapwing svg { display: block; color: inherit; } .lapwing svg text { fill: var(--lw-axis);
  font: 11px/1 system-ui, sans-serif; }
.lapwing svg .grid { stroke: var(--lw-grid); fill: none;
  } .lapwing svg .zero, .lapwing svg .axis { stroke: var(--lw-axis); fill: none; }
.lapwing svg .line { stroke: var(--lw-bar); stroke-width: 2; fill: none; }
.lapwing svg .value { fill: var(--lw-bar); }
.lapwing svg .meter { stroke: var(--lw-bar); stroke-width: 8; fill: none; }
.lapwing svg .cut { fill: var(--lw-back); stroke: var(--lw-bar); stroke-width: 1.5; }
.lapwing svg .none { stroke: var(--lw-axis); stroke-dasharray: 2 3; fill: none; }
.lapwing .mark { background: var(--lw-mark); color: var(--lw-marked); padding: 0 .35rem; border-radius: .2rem; }
.lapwing .bad { color: var(--lw-bad); font-weight: 600; }
.lapwing dl { display: grid; grid-template-columns: minmax(8rem, 12rem) minmax(0, 1fr); gap: .35rem 1.2rem;
  margin: .6rem 0; }
.lapwing dt { color: var(--lw-quiet); margin: 0; } .lapwing dd { margin: 0; max-width: 46rem; }
.lapwing pre { background: var(--lw-card); color: inherit; padding: .8rem; white-space: pre-wrap; font-size: .85em;
  overflow-wrap: anywhere; border-radius: .3rem; margin: .5rem 0; }
.lapwing details { margin: .6rem 0; } .lapwing summary { cursor: pointer; }
.lapwing .box { background: var(--lw-card); border-left: 4px solid var(--lw-axis); padding: .6rem 1rem;
  margin: 1.2rem 0; }
.lapwing .pager { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: .6rem 0; }
.lapwing .pager button, .lapwing .pager input { font: inherit; color: inherit; background: var(--lw-card);
  border: 1px solid var(--lw-axis); border-radius: .3rem; padding: .15rem .6rem; max-width: 100%; }
.lapwing .pager button:disabled { color: var(--lw-quiet); border-color: var(--lw-line); }
.lapwing.page { max-width: 78rem; margin: 0 auto; padding: 1.5rem 1.25rem 3rem; box-sizing: border-box; }
@media (max-width: 40rem) { .lapwing dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
.lapwing dd { margin-bottom: .6rem; }
  .lapwing .one td.draw div { display: block; }
  .lapwing .one td.draw .range { font-size: .85em; margin: 0 0 .15rem .8rem; }
  .lapwing h1 { font-size: 1.5rem; } .lapwing.page { padding: 1rem .9rem 2rem; }
.lapwing th.key, .lapwing td.key { max-width: 11rem; } }
"""
)

PAGE = f"""
html {{ background: {LIGHT["back"]}; }} body {{ margin: 0; }}
@media (prefers-color-scheme: dark) {{ html {{ background: {DARK["back"]}; }} }}
@media print {{ html {{ background: none; }} .lapwing {{ {_scheme(LIGHT)} color-scheme: light; font-size: 10pt; }}
  .lapwing.page {{ max-width: none; padding: 0; }} .lapwing .pager {{ display: none; }}
.lapwing thead {{ display: table-header-group; }}
  .lapwing tr, .lapwing .box {{ break-inside: avoid; }} .lapwing h2, .lapwing h3 {{ break-after: avoid; }}
  .lapwing .scroll {{ overflow: visible; }} .lapwing svg {{ print-color-adjust: exact; }}
  .lapwing table:not(.one) svg {{ width: 150px; height: auto; }} }}
""".strip()
