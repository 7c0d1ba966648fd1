"""The script that shows a long table page by page, from the JSON in the page.

It shows a number as ``numbers`` does.  All text goes in as text: nothing of the data is read as HTML.
"""

from __future__ import annotations

from .axis import HEIGHT, WIDTH

SCRIPT = (
    r"""
"use strict";
(() => {
  const read = (id, revive) => JSON.parse(document.getElementById(id).textContent, revive);
  const plain = read("lapwing-tables");
  const large = (key, value, context) =>
    typeof value === "number" && context && /^-?\d{16,}$/.test(context.source) ? BigInt(context.source) : value;
  const rows = read("lapwing-release", plain.large ? large : undefined).rows;

  const space = document.querySelector("svg").namespaceURI;
  const make = (name, attributes, ...inner) => {
    const svg = ["svg", "path", "circle"].includes(name);
    const made = svg ? document.createElementNS(space, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inner);
    return made;
  };
  const grouped = text => text.replace(/\d+/, digits => digits.replace(/\B(?=(\d{3})+$)/g, ","));
  const fixed = (x, places) => {  // rounds halves to even digits
    const more = Math.min(places + 40, 100), long = x.toFixed(more), tail = long.slice(long.length - more + places);
    const cut = long.slice(0, long.length - more + places).replace(/\.$/, "");
    return more > places && /^50*$/.test(tail) && /[02468]$/.test(cut) ? cut : x.toFixed(places);
  };
  const shown = (x, width, how) => {
    if (how.whole) return grouped(Number(x).toFixed(100).replace(/\.?0+$/, ""));
    if (how.integer) return grouped(BigInt(x).toString());
    if (!width || !isFinite(width))
      return Math.abs(x) < 1e4 ? grouped(String(Number(x.toPrecision(4)))) : grouped(fixed(x, 0));
    const places = Math.max(2 - Math.ceil(Math.log10(width)), 0);
    const text = places < 20 ? grouped(fixed(x, places)) : String(Number(x.toPrecision(6)));
    return /[1-9]/.test(text) ? text : text.replace("-", "");
  };
  const ends = (low, high, how) => {
    const bars = {integer: how.integer}, width = Number(high) - Number(low);
    return [shown(low, width, bars), shown(high, width, bars)];
  };
  const range = (bar, how, low, high) => {
    if (how.bare) return "none";
    if (low === null || high === null) return "";
    const between = ends(low, high, how).join(" to "), at = [Number(low), Number(high)];
    if (bar.value === null || bar.noise === "no information") return between;
    const cuts = how.ends.filter(end => end !== null && at.includes(end) && at[0] < at[1]);
    if (cuts.length)
      return `${between}, cut at ${cuts.map(end => shown(end, 0, {integer: Number.isInteger(end)})).join(" and ")}`;
    if (how.integer) {
      const up = BigInt(high) - BigInt(bar.value), down = BigInt(bar.value) - BigInt(low);
      const apart = up > down ? up - down : down - up;
      return apart <= 1n ? `± ${grouped(String(up > down ? up : down))}` : between;
    }
    const up = at[1] - bar.value, down = bar.value - at[0], width = at[1] - at[0];
    return Math.abs(up - down) <= 0.02 * width ? `± ${shown(Math.max(up, down), width, {})}` : between;
  };
  const draw = (bar, how, text, low, high) => {
    const at = x => {
      const share = (Number(x) / 2 - how.low / 2) / (how.high / 2 - how.low / 2);
      return (how.pad + (WIDTH - 2 * how.pad) * Math.min(Math.max(share, 0), 1)).toFixed(1);
    };
    const silent = bar.noise === "no information" && !how.bare, both = low !== null && high !== null && !how.bare;
    const words = [silent ? bar.noise : bar.value === null ? "left out" : text];
    const svg = make("svg", {width: WIDTH, height: HEIGHT, viewBox: "0 0 WIDTH HEIGHT", role: "img"});
    svg.append(make("path", {class: "grid", d: how.grid}));
    if (how.zero !== null) svg.append(make("path", {class: "zero", d: `M${how.zero} 0VHEIGHT`}));
    if (both && (silent || bar.value !== null)) {
      svg.append(make("path", {class: silent ? "none" : "line", d: `M${at(low)} MIDDLEH${at(high)}`}));
      const [from, to] = ends(low, high, how);
      words.push(`from ${from} to ${to}`);
    }
    if (!silent && bar.value !== null) {
      svg.append(make("circle", {class: "value", cx: at(bar.value), cy: MIDDLE, r: 3.5}));
      const cut = (end, bound, to) =>
        both && low < high && bound !== null && Number(end) === bound &&
        svg.append(make("path", {class: "cut", d: `M${at(end)} MIDDLEl${to} -4v8z`}));
      cut(low, how.ends[0], 5);
      cut(high, how.ends[1], -5);
    }
    svg.setAttribute("aria-label", words.join(", "));
    return svg;
  };
  const number = (bar, how) => {
    const {value, low, high, noise} = bar, none = low === null || high === null || how.bare;
    const width = none ? 0 : Number(high) - Number(low);
    const text = value === null || (noise === "no information" && !how.bare) ? "–" : shown(value, width, how);
    const told = make("span", {class: "range"}, range(bar, how, low, high));
    if (noise && noise !== "low" && !how.bare) {
      if (told.textContent) told.append(" ");
      told.append(make("span", {class: "mark"}, ["medium", "high"].includes(noise) ? `noise: ${noise}` : noise));
    }
    const drawn = make("div", {}, draw(bar, how, text, low, high), told);
    return [make("td", {}, text), make("td", {class: "draw"}, drawn)];
  };
  const word = (key, total) => key === null ? total : key === true ? "True" : key === false ? "False" : String(key);
  const visible = text => text.replace(/(?![ \n\t\u200c\u200d])[\p{C}\p{Z}]/gu, "\ufffd");  // as `escaped` does

  for (const each of plain.tables) {
    const table = document.getElementById(each.id), pager = document.getElementById(`${each.id}-pager`);
    if (!pager) continue;
    const all = rows.slice(each.first, each.last);
    let found = all, page = 0;
    const texts = row => each.keys.map(name => word(row[name], each.total));
    const line = (row, before) => {
      const keys = texts(row), same = before && keys.slice(0, each.outer).every((key, i) => key === before[i]);
      const made = make("tr", {}, ...keys.map((key, i) => make(i ? "td" : "th",
        {class: `key${i < each.outer ? " outer" : ""}`, ...(i ? {} : {scope: "row"})}, visible(key))));
      if (same && each.outer) made.classList.add("again");
      if (each.keys.some(name => row[name] === null)) made.classList.add("total");
      for (const how of each.statistics) made.append(...number(row[how.name], how));
      return [made, keys, same];
    };
    const show = () => {
      const last = Math.max(Math.ceil(found.length / each.size) - 1, 0);
      page = Math.min(Math.max(page, 0), last);
      const start = page * each.size, some = found.slice(start, start + each.size), bodies = [];
      let before = null;
      for (const row of some) {
        const [made, keys, same] = line(row, before);
        if (!bodies.length || !same) bodies.push(make("tbody", {}));
        bodies[bodies.length - 1].append(made);
        before = keys;
      }
      table.querySelectorAll("tbody").forEach(body => body.remove());
      (table.querySelector("thead")).after(...bodies);
      const [from, to, of] = [start + 1, start + some.length, found.length].map(i => grouped(String(i)));
      state.textContent = some.length ? `Groups ${from} to ${to} of ${of}` : "No group has this text.";
      first.disabled = back.disabled = page === 0;
      next.disabled = end.disabled = page === last;
    };
    const button = (text, go) => {
      const made = make("button", {type: "button"}, text);
      made.addEventListener("click", () => { page = go(); show(); });
      return made;
    };
    const first = button("First", () => 0), back = button("Previous", () => page - 1);
    const next = button("Next", () => page + 1), end = button("Last", () => Infinity);
    const state = make("span", {role: "status"}), find = make("input", {type: "search", placeholder: "Find a group"});
    find.setAttribute("aria-label", "Find groups whose keys have this text");
    find.addEventListener("input", () => {
      const asked = find.value.toLowerCase();
      found = asked ? all.filter(row => visible(texts(row).join("\n")).toLowerCase().includes(asked)) : all;
      page = 0;
      show();
    });
    pager.replaceChildren(first, back, next, end, state, find);
    show();
  }
})();
""".strip()
    .replace("WIDTH", str(WIDTH))
    .replace("HEIGHT", str(HEIGHT))
    .replace("MIDDLE", f"{HEIGHT / 2:g}")
)
