"use strict";
const parse = (id) => JSON.parse(document.getElementById(id).textContent);
const rows = parse("data");
const metrics = parse("metrics"); // [name, better, is static], in the order of the numbers in rows
const [KEY, NAME, TARGET, OUTCOME, NUMERICS, CLUSTER, REASON, TEST, MORE, BUCKET, SEVERITY, MACHINE, NUMBERS, OTHER_LOOPS] =
  Array(14).keys();
const COLUMNS = [KEY, NAME, TARGET, OUTCOME, NUMERICS, CLUSTER, REASON, TEST];
const FIELDS = { outcome: OUTCOME, numerics: NUMERICS, cluster: CLUSTER, bucket: BUCKET, severity: SEVERITY,
  machine: MACHINE, target: TARGET };
const PAGE = 100;
const FILTERS = Object.keys(FIELDS).concat("metric").map((kind) => `button[data-${kind}]`).join(", ");
const body = document.querySelector("#records tbody");
const search = document.getElementById("search");
const detail = document.getElementById("detail");
const metricHead = document.getElementById("metric-head");
const filter = {}; // field to value; `metric` to "name:helped", "name:hurt" or "name:affected"
let texts = null; // what is searched of each row, from the first search on
let order = { column: null, down: false };
let found = [];
let page = 0;

// --- which rows, in which order ---

function pairOf(row, index) {
  const numbers = row[NUMBERS] || [];
  for (let at = 0; at < numbers.length; at += 3) {
    if (numbers[at] === index) return [numbers[at + 1], numbers[at + 2]];
  }
  return null;
}

function chosenMetric() {
  if (!filter.metric) return null;
  const [name, side] = filter.metric.split(":");
  const index = metrics.findIndex((metric) => metric[0] === name);
  return { index, side, better: metrics[index][1], isStatic: metrics[index][2] };
}

function directionOf(pair, better) {
  const [before, after] = pair;
  if (before === null || after === null || better === "neither") return "affected";
  return after < before === (better === "lower") ? "helped" : "hurt";
}

function factor(pair) {
  const [before, after] = pair;
  if (before === null || after === null) return 1;
  return before ? after / before : Infinity;
}

function hasMetric(row, wanted) {
  const pair = pairOf(row, wanted.index);
  if (pair === null || (wanted.isStatic && row[OTHER_LOOPS])) return false; // as in the table of metrics
  if (pair.includes(null)) return false;
  return wanted.side === "affected" || directionOf(pair, wanted.better) === wanted.side;
}

function update() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const fixed = Object.entries(FIELDS).filter(([kind]) => filter[kind]);
  const metric = chosenMetric();
  if (words.length) texts ??= rows.map((row) => COLUMNS.map((column) => row[column] ?? "").join("\n").toLowerCase());
  found = [];
  rows.forEach((row, number) => {
    if (fixed.some(([kind, column]) => String(row[column] ?? "") !== filter[kind])) return;
    if (metric && !hasMetric(row, metric)) return;
    if (words.every((word) => texts[number].includes(word))) found.push(row);
  });
  sort(metric);
  page = 0;
  draw();
}

function sort(metric) {
  if (order.column !== null) {
    const value = (row) => String(row[order.column] ?? "");
    const sign = order.down ? -1 : 1;
    found.sort((a, b) => sign * value(a).localeCompare(value(b), "en", { numeric: true }));
  } else if (metric) {
    const size = (row) => Math.abs(Math.log(factor(pairOf(row, metric.index)) || 1e-9));
    found.sort((a, b) => size(b) - size(a)); // what changed most comes first
  }
}

// --- the table; only the rows of one page are built ---

function draw() {
  const metric = chosenMetric();
  metricHead.hidden = !metric;
  metricHead.textContent = metric ? metrics[metric.index][0] : "";
  body.replaceChildren(...found.slice(page * PAGE, (page + 1) * PAGE).map((row) => drawRow(row, metric)));
  const first = found.length ? page * PAGE + 1 : 0;
  const last = Math.min(found.length, (page + 1) * PAGE);
  document.getElementById("shown").textContent = `${first} to ${last} of ${found.length}`;
  for (const button of document.querySelectorAll(FILTERS)) {
    const [kind, value] = Object.entries(button.dataset)[0];
    button.setAttribute("aria-pressed", String(value !== "" && filter[kind] === value));
  }
  const chosen = Object.entries(filter).filter(([, value]) => value).map(([kind, value]) => `${kind} ${value}`);
  document.getElementById("filters").textContent = chosen.join(" and ");
  document.getElementById("clear").hidden = !chosen.length && !search.value;
  for (const head of document.querySelectorAll("th[data-column]")) {
    const isSorted = order.column === Number(head.dataset.column);
    head.setAttribute("aria-sort", isSorted ? (order.down ? "descending" : "ascending") : "none");
  }
}

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function drawRow(row, metric) {
  const line = element("tr");
  for (const column of COLUMNS) {
    const isVerdict = column === OUTCOME || column === NUMERICS;
    line.append(element("td", row[column] ?? "", isVerdict ? `is-${row[column]}` : ""));
  }
  if (metric) line.append(element("td", change(pairOf(row, metric.index)), "number"));
  line.tabIndex = 0;
  line.addEventListener("click", () => choose(line, row));
  line.addEventListener("keydown", (event) => {
    if (event.key === "Enter") choose(line, row);
    const next = { ArrowDown: line.nextElementSibling, ArrowUp: line.previousElementSibling }[event.key];
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
  return line;
}

function number(value) {
  return value === null ? "unknown" : value.toLocaleString("en", { maximumFractionDigits: 4 });
}

function change(pair) {
  const times = pair[0] && pair[1] !== null ? ` (\u00d7${(pair[1] / pair[0]).toPrecision(3)})` : "";
  return `${number(pair[0])} \u2192 ${number(pair[1])}${times}`;
}

function choose(line, row) {
  for (const other of body.querySelectorAll(".chosen")) other.classList.remove("chosen");
  line.classList.add("chosen");
  document.getElementById("command").textContent = row[MORE];
  const facts = [["worst element, in bounds", row[BUCKET]], ["wrong by", row[SEVERITY]], ["machine code", row[MACHINE]]]
    .filter(([, value]) => value);
  const numbers = row[NUMBERS] || [];
  for (let at = 0; at < numbers.length; at += 3) {
    facts.push([metrics[numbers[at]][0], change([numbers[at + 1], numbers[at + 2]])]);
  }
  detail.replaceChildren(...facts.map(([name, value]) => {
    const fact = element("tr");
    fact.append(element("th", name), element("td", value));
    return fact;
  }));
}

function turn(step) {
  const last = Math.max(0, Math.ceil(found.length / PAGE) - 1);
  page = Math.min(last, Math.max(0, page + step));
  draw();
}

function clear() {
  for (const kind of Object.keys(filter)) delete filter[kind];
  search.value = "";
  order = { column: null, down: false };
  update();
}

// --- clusters: their differences are built when they are looked at ---

function showDifferences(details) {
  const place = details.querySelector(".levels");
  if (!details.open || place.childElementCount) return;
  const levels = parse(place.dataset.levels);
  if (!levels.length) return;
  const bar = element("div", undefined, "tabs");
  bar.setAttribute("role", "tablist");
  const panel = element("div");
  panel.setAttribute("role", "tabpanel");
  const tabs = levels.map(([name, lines]) => {
    const tab = element("button", name);
    tab.setAttribute("role", "tab");
    tab.addEventListener("click", () => select(tab, tabs, panel, lines));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
      next.focus();
      next.click();
    });
    return tab;
  });
  bar.append(...tabs);
  place.append(bar, panel);
  (tabs.find((tab) => tab.textContent === "source") || tabs[0]).click();
}

function select(tab, tabs, panel, lines) {
  for (const other of tabs) {
    other.setAttribute("aria-selected", String(other === tab));
    other.tabIndex = other === tab ? 0 : -1;
  }
  const table = element("table", undefined, "diff");
  table.append(...lines.map(([kind, before, after]) => {
    const line = element("tr", undefined, kind);
    line.append(element("td", before));
    if (after === undefined) line.firstChild.colSpan = 2;
    else line.append(element("td", after));
    return line;
  }));
  panel.replaceChildren(table);
}

for (const details of document.querySelectorAll("details.cluster")) {
  details.addEventListener("toggle", () => showDifferences(details));
  showDifferences(details);
}

// --- mouse and keys ---

document.addEventListener("click", (event) => {
  const head = event.target.closest("th[data-column] button");
  if (head) {
    const column = Number(head.parentElement.dataset.column);
    order = { column, down: order.column === column && !order.down };
    update();
    return;
  }
  const button = event.target.closest(FILTERS);
  if (!button) return;
  const [kind, value] = Object.entries(button.dataset)[0];
  if (kind === "outcome" && value === "") return clear();
  filter[kind] = filter[kind] === value ? "" : value;
  update();
  if (kind === "cluster" || kind === "metric") search.scrollIntoView();
});
search.addEventListener("input", update);
document.getElementById("previous").addEventListener("click", () => turn(-1));
document.getElementById("next").addEventListener("click", () => turn(1));
document.getElementById("clear").addEventListener("click", clear);
document.addEventListener("keydown", (event) => {
  if (event.target === search) {
    if (event.key === "Escape") search.blur();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "j") turn(1);
  if (event.key === "k") turn(-1);
  if (event.key === "Escape") clear();
  if (event.key === "/") {
    event.preventDefault();
    search.focus();
  }
});
update();
