// The page to ask: the plan follows what is typed, words are completed, and controls write SQL.
// All text goes into the page as text, or as HTML that the server has escaped.
"use strict";
(() => {
  const at = id => document.getElementById(id);
  const form = at("ask"), sql = at("sql"), epsilon = at("epsilon"), plan = at("plan"), slider = at("slider");
  const csrf = document.querySelector('meta[name="lapwing-csrf"]').content;

  // --- the plan follows ---

  let waiting = 0, newest = 0;
  const follow = async () => {
    const mine = ++newest;
    plan.classList.add("updating");
    try {
      const answer = await fetch(form.dataset.follow, {
        method: "POST",
        body: new URLSearchParams(new FormData(form)),
        headers: { "X-Lapwing-CSRF": csrf, Accept: "text/html" },
      });
      const text = await answer.text();
      if (mine !== newest) return; // something else was typed since
      if (answer.status === 401) location.reload();
      else if (answer.ok) plan.innerHTML = text;
      else plan.textContent = "The plan is not available now. Nothing was charged.";
    } catch {
      if (mine === newest) plan.textContent = "The server does not answer. Nothing was charged.";
    }
    if (mine === newest) plan.classList.remove("updating");
  };
  const refusal = at("refusal");
  if (refusal) refusal.focus();
  const keep = () => { // in the address: reload, Back and a bookmark have what was typed, unless it is too long
    const query = new URLSearchParams(new FormData(form));
    query.delete("csrf");
    const address = `?${query}`;
    if (address.length <= form.dataset.most && address !== location.search) history.replaceState(null, "", address);
  };
  form.addEventListener("change", keep);
  form.addEventListener("submit", keep);
  const soon = () => {
    if (refusal) refusal.hidden = true; // it was about the question as it was sent
    clearTimeout(waiting);
    newest++; // what is on its way is about what was there before
    plan.classList.add("updating");
    waiting = setTimeout(() => { keep(); follow(); }, 300);
  };
  at("plan-button").hidden = true;

  // --- ε ---

  const ladder = slider.dataset.ladder.split(" ");
  let steps = ladder;
  const onSlider = () => { // what is typed becomes a step of its own, so that the slider is where the field is
    const typed = epsilon.value.trim(), fits = Number(typed) > 0 && Number.isFinite(Number(typed));
    steps = !fits || ladder.some(value => Number(value) === Number(typed)) ? ladder : [...ladder, typed].sort((a, b) => a - b);
    slider.max = steps.length - 1;
    slider.value = fits ? steps.findIndex(value => Number(value) === Number(typed)) : 0;
    slider.setAttribute("aria-valuetext", fits ? `ε = ${typed}` : "ε is not a number above 0");
  };
  slider.addEventListener("input", () => {
    epsilon.value = steps[slider.value];
    slider.setAttribute("aria-valuetext", `ε = ${epsilon.value}`);
    soon();
  });
  epsilon.addEventListener("input", () => { onSlider(); soon(); });
  at("slider-part").hidden = false;
  onSlider();

  // --- controls write SQL ---

  const { table, words } = JSON.parse(at("completion").textContent);
  const picked = () => {
    const of = at("pick-statistic").value.replace("{}", at("pick-column").value);
    const by = [...new Set([at("pick-by").value, at("pick-also").value].filter(Boolean))];
    return { of, by, where: at("pick-where").value.trim() };
  };
  at("pick-write").addEventListener("click", () => {
    const { of, by, where } = picked();
    const lines = [`SELECT ${[...by, of].join(", ")}`, `FROM ${table}`];
    if (where) lines.push(`WHERE ${where}`);
    if (by.length) lines.push(`GROUP BY ${by.join(", ")}`);
    sql.value = lines.join("\n");
    soon();
  });
  at("pick-add").addEventListener("click", () => {
    const { of } = picked();
    sql.value = sql.value.replace(/(\s+FROM\s)/i, `, ${of}$1`);
    soon();
  });
  const needsColumn = () => { at("pick-column").disabled = !at("pick-statistic").value.includes("{}"); };
  at("pick-statistic").addEventListener("change", needsColumn);
  needsColumn();
  if (!at("pick-column").options.length) [...at("pick-statistic").options].slice(1).forEach(each => each.remove());
  at("pick").hidden = false;

  // --- completion ---

  const list = at("completions");
  let chosen = -1;
  sql.setAttribute("aria-autocomplete", "list");
  sql.setAttribute("aria-controls", "completions");
  const close = () => {
    list.hidden = true;
    chosen = -1;
    sql.removeAttribute("aria-activedescendant");
  };
  const typed = () => (/['"]?[\p{L}_][\p{L}\p{N}_]*$/u.exec(sql.value.slice(0, sql.selectionStart)) || [""])[0];
  const choose = i => {
    const items = [...list.children];
    chosen = (i + items.length) % items.length;
    items.forEach((each, j) => each.setAttribute("aria-selected", String(j === chosen)));
    items[chosen].scrollIntoView({ block: "nearest" });
    sql.setAttribute("aria-activedescendant", items[chosen].id);
  };
  const accept = i => {
    const word = list.children[i].dataset.word, end = sql.selectionStart, start = end - typed().length;
    sql.setRangeText(word, start, end, "end");
    close();
    sql.focus();
    soon();
  };
  const offer = always => {
    const start = typed(), bare = start.replace(/^['"]/, "").toLowerCase();
    const fits = ([word]) => word.replace(/^['"]/, "").toLowerCase().startsWith(bare) && word !== start;
    const found = bare.length < 1 && !always ? [] : words.filter(fits).slice(0, 12);
    list.replaceChildren(...found.map(([word, what], i) => {
      const item = document.createElement("li"), note = document.createElement("span");
      Object.assign(item, { id: `completion-${i}`, textContent: word });
      item.dataset.word = word;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      Object.assign(note, { className: "unit", textContent: what });
      item.append(note);
      item.addEventListener("mousedown", event => { event.preventDefault(); accept(i); });
      return item;
    }));
    list.hidden = !found.length;
    chosen = -1;
    sql.removeAttribute("aria-activedescendant");
  };
  sql.addEventListener("input", () => { offer(false); soon(); });
  sql.addEventListener("blur", close);
  sql.addEventListener("keydown", event => {
    if (event.key === " " && event.ctrlKey) { event.preventDefault(); offer(true); return; }
    if (list.hidden) return;
    if (event.key === "ArrowDown") choose(chosen + 1);
    else if (event.key === "ArrowUp") choose(chosen < 0 ? -1 : chosen - 1);
    else if (event.key === "Enter" && chosen >= 0) accept(chosen);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
  follow();
})();
