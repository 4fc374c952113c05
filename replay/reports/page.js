"use strict";
const rows = JSON.parse(document.getElementById("data").textContent);
const [KEY, NAME, TARGET, OUTCOME, NUMERICS, CLUSTER, REASON, TEST, MORE] = Array(9).keys();
const PAGE = 100;
const body = document.querySelector("#records tbody");
const search = document.getElementById("search");
const filter = { outcome: "", numerics: "", cluster: "" };
let found = rows;
let page = 0;

function matches(row, words) {
  if (filter.outcome && row[OUTCOME] !== filter.outcome) return false;
  if (filter.numerics && row[NUMERICS] !== filter.numerics) return false;
  if (filter.cluster && String(row[CLUSTER]) !== filter.cluster) return false;
  return words.every((word) => row.some((cell) => String(cell ?? "").toLowerCase().includes(word)));
}

function update() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  found = rows.filter((row) => matches(row, words));
  page = 0;
  draw();
}

function draw() {
  body.replaceChildren(...found.slice(page * PAGE, (page + 1) * PAGE).map(drawRow));
  const first = found.length ? page * PAGE + 1 : 0;
  const last = Math.min(found.length, (page + 1) * PAGE);
  document.getElementById("shown").textContent = `${first} to ${last} of ${found.length}`;
  for (const button of document.querySelectorAll("button[data-outcome], button[data-numerics], button[data-cluster]")) {
    const [kind, value] = Object.entries(button.dataset)[0];
    button.setAttribute("aria-pressed", String(value !== "" && filter[kind] === value));
  }
}

function drawRow(row) {
  const line = document.createElement("tr");
  for (const column of [KEY, NAME, TARGET, OUTCOME, NUMERICS, CLUSTER, REASON, TEST]) {
    const cell = document.createElement("td");
    cell.textContent = row[column] ?? "";
    if (column === OUTCOME || column === NUMERICS) cell.className = `is-${row[column]}`;
    line.append(cell);
  }
  line.tabIndex = 0;
  const choose = () => {
    for (const other of body.querySelectorAll(".chosen")) other.classList.remove("chosen");
    line.classList.add("chosen");
    document.getElementById("command").textContent = row[MORE];
  };
  line.addEventListener("click", choose);
  line.addEventListener("keydown", (event) => {
    if (event.key === "Enter") choose();
    const next = { ArrowDown: line.nextElementSibling, ArrowUp: line.previousElementSibling }[event.key];
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
  return line;
}

function turn(step) {
  const last = Math.max(0, Math.ceil(found.length / PAGE) - 1);
  page = Math.min(last, Math.max(0, page + step));
  draw();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-outcome], button[data-numerics], button[data-cluster]");
  if (!button) return;
  const [kind, value] = Object.entries(button.dataset)[0];
  const wanted = filter[kind] === value ? "" : value;
  Object.assign(filter, { outcome: "", numerics: "", cluster: "" }, { [kind]: wanted });
  update();
  if (kind === "cluster") search.scrollIntoView();
});
search.addEventListener("input", update);
document.getElementById("previous").addEventListener("click", () => turn(-1));
document.getElementById("next").addEventListener("click", () => turn(1));
document.addEventListener("keydown", (event) => {
  if (event.target === search) {
    if (event.key === "Escape") search.blur();
    return;
  }
  if (event.key === "j") turn(1);
  if (event.key === "k") turn(-1);
  if (event.key === "/") {
    event.preventDefault();
    search.focus();
  }
});
update();
