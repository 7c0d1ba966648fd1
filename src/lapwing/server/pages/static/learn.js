// Sliders and drawings of the page "Learn". All that is drawn here is invented in the browser.
import { margin, marginOfDifference, noise, pmf, uniform } from "./laplace.js";

const find = (id) => document.getElementById(id);
const settings = JSON.parse(find("learn").dataset.settings);
const HIGH = 260, LEFT = 12, RIGHT = 12, TOP = 14, BOTTOM = 30;
let WIDE = 720;
const number = (value) => value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 2 : 0 });

function made(name, attributes, text) {
  const part = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) part.setAttribute(key, value);
  if (text !== undefined) part.textContent = text;
  return part;
}

function chosen() {
  const epsilon = Number(settings.epsilons[find("epsilon").value]);
  const sensitivity = settings.sensitivities[find("sensitivity").value];
  const n = settings.sizes[find("n").value];
  return { epsilon, sensitivity, n, scale: sensitivity / epsilon };
}

// --- the two curves ---

let drawn = [];

function axis(svg, low, high, at) {
  svg.append(made("path", { class: "axis", d: `M${LEFT} ${HIGH - BOTTOM}H${WIDE - RIGHT}` }));
  const rough = ((high - low) * 90) / WIDE, ten = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].find((each) => each * ten >= rough) * ten);
  for (let x = Math.ceil(low / step) * step; x <= high; x += step) {
    if (at(x) < LEFT + 22 || at(x) > WIDE - RIGHT - 22) continue;
    svg.append(made("path", { class: "axis", d: `M${at(x)} ${HIGH - BOTTOM}v5` }));
    svg.append(made("text", { x: at(x), y: HIGH - 9, "text-anchor": "middle" }, x.toLocaleString("en")));
  }
}

function curve(points) {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

function drawCurves({ epsilon, sensitivity, n, scale }) {
  const svg = find("curves");
  WIDE = Math.max(300, Math.min(Math.round(svg.clientWidth), 960)) || 720;
  svg.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  const span = Math.ceil(4 * scale) + sensitivity;
  const low = n - span, high = n + sensitivity + span, top = pmf(0, scale) * 1.12;
  const at = (x) => LEFT + ((x - low) / (high - low)) * (WIDE - LEFT - RIGHT);
  const up = (p) => HIGH - BOTTOM - (Math.min(p, top) / top) * (HIGH - BOTTOM - TOP);
  const step = Math.max(1, Math.round((high - low) / 360)), xs = [];
  for (let x = low; x <= high; x += step) xs.push(x);
  const factor = Math.exp(epsilon), one = (x) => pmf(x - n, scale), other = (x) => pmf(x - n - sensitivity, scale);
  const upper = xs.map((x) => [at(x), up(one(x) * factor)]);
  const lower = xs.map((x) => [at(x), up(one(x) / factor)]).reverse();
  svg.replaceChildren();
  svg.append(made("path", { class: "band", d: `${curve([...upper, ...lower])}Z` }));
  const counts = new Map();
  for (const each of drawn) counts.set(each, (counts.get(each) || 0) + 1);
  const width = Math.max(1.5, Math.min(10, (WIDE - LEFT - RIGHT) / (high - low) - 1));
  for (const [x, count] of counts) {
    if (x < low || x > high) continue;
    const y = up(count / drawn.length);
    svg.append(made("rect", { class: "draw", x: at(x) - width / 2, y, width, height: HIGH - BOTTOM - y }));
  }
  axis(svg, low, high, at);
  svg.append(made("path", { class: "curve one", d: curve(xs.map((x) => [at(x), up(one(x))])) }));
  svg.append(made("path", { class: "curve other", d: curve(xs.map((x) => [at(x), up(other(x))])) }));
  const bar = margin(scale), ends = [Math.max(at(n - bar), LEFT), Math.min(at(n + bar), WIDE - RIGHT)];
  svg.append(made("path", { class: "whisker", d: `M${ends[0]} ${TOP - 4}v8m0 -4H${ends[1]}m0 -4v8` }));
  const words = `Two curves: the answers about ${n} people and about ${n + sensitivity}. `;
  svg.setAttribute("aria-label", words + `Their ratio is at most ${number(factor)} everywhere.`);
}

function tell({ epsilon, sensitivity, n, scale }) {
  const bar = margin(scale), factor = Math.exp(epsilon), ratio = pmf(0, scale) / pmf(sensitivity, scale);
  find("epsilon-value").textContent = settings.epsilons[find("epsilon").value];
  find("sensitivity-value").textContent = sensitivity;
  find("n-value").textContent = n.toLocaleString("en");
  find("scale").textContent = number(scale);
  find("margin").textContent = bar.toLocaleString("en");
  find("share").textContent = `${number((100 * bar) / n)} %`;
  find("factor").textContent = number(factor);
  find("ratio").textContent = number(ratio);
}

function tellDraws({ n, scale }) {
  const bar = margin(scale), inside = drawn.filter((each) => Math.abs(each - n) <= bar).length;
  const last = drawn.slice(-8).map((each) => each.toLocaleString("en")).join(", ");
  find("drawn").textContent = drawn.length
    ? `${drawn.length.toLocaleString("en")} drawn, ${inside.toLocaleString("en")} of them ` +
      `(${number((100 * inside) / drawn.length)} %) within the bar. The last: ${last}.`
    : "Nothing is drawn yet.";
}

function draw(count) {
  const values = chosen();
  for (let i = 0; i < count; i += 1) drawn.push(values.n + noise(values.scale, uniform()));
  drawn = drawn.slice(-10000);
  drawCurves(values);
  tellDraws(values);
}

function changed() {
  drawn = [];
  const values = chosen();
  tell(values);
  drawCurves(values);
  tellDraws(values);
}

for (const name of ["epsilon", "sensitivity", "n"]) find(name).addEventListener("input", changed);
addEventListener("resize", () => drawCurves(chosen()));
find("draw-one").addEventListener("click", () => draw(1));
find("draw-many").addEventListener("click", () => draw(1000));
changed();

// --- the attack ---

const total = (people) => people.reduce((sum, [, pay]) => sum + pay, 0);
const average = (sum, count) => (sum / count).toFixed(2);

function attack() {
  const [name, truth] = settings.pay[find("target").value], noisy = find("noisy").checked;
  const epsilon = Number(settings.epsilons[find("attack-epsilon").value]);
  const scale = settings.highest / epsilon, others = settings.pay.filter(([each]) => each !== name);
  const [all, rest] = [settings.pay, others].map((people) => total(people) + (noisy ? noise(scale, uniform()) : 0));
  const count = settings.pay.length, told = all - rest;
  find("average-all").textContent = average(all, count);
  find("average-rest").textContent = average(rest, count - 1);
  find("rest-name").textContent = name;
  find("subtraction").textContent =
    `${count} × ${average(all, count)} − ${count - 1} × ${average(rest, count - 1)} = ${told.toLocaleString("en")}`;
  const bar = marginOfDifference(scale);
  const reach = 2 * bar >= settings.highest
    ? `wider than the whole range of pay (0 to ${settings.highest})` : "an ε this large protects little";
  find("verdict").textContent = noisy
    ? `${name} earns ${truth}. The subtraction says ${told.toLocaleString("en")}, and its own 95 % bar is ` +
      `± ${bar.toLocaleString("en")}: ${reach}.`
    : `${name} earns ${truth}, and the subtraction says exactly that. No name was asked for: two harmless averages ` +
      "were enough.";
  find("attack-result").hidden = false;
}

function tellAttack() {
  find("attack-epsilon-value").textContent = settings.epsilons[find("attack-epsilon").value];
}

find("attack-epsilon").addEventListener("input", tellAttack);
find("attack-form").addEventListener("submit", (event) => {
  event.preventDefault();
  attack();
});
tellAttack();
find("learn").dataset.ready = "yes";
