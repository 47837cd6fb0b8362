"use strict";

// The table of servers by areas: its rows are built from a line of JSON each, a piece at a time.

const outcomes = [
  ["fails", "✕", "Do not conform", "does not conform"],
  ["broken", "!", "mcpcheck failed", "mcpcheck failed"],
  ["untested", "?", "Could not be tested", "could not be tested"],
  ["waiting", "…", "Not judged yet", "not judged yet"],
  ["conforms", "✓", "Conform", "conforms"],
];
const counted = [
  ["gating", "✕", "blocking"], ["error", "!", "errors of mcpcheck"], ["fail", "✕", "failing, not blocking"],
  ["known", "~", "known"], ["inconclusive", "?", "not decided"], ["pass", "✓", "passed"], ["skip", "–", "skipped"],
];
const troubles = 4; // of these, the first
const piece = 200; // rows that are built at a time

const lines = byId("rows").textContent.trim().split("\n");
const areas = JSON.parse(lines[0]) || [];
const rows = lines.slice(1).map((line) => {
  const row = JSON.parse(line);
  row.text = [row.name, row.said || "", row.server || ""].join("\n").toLowerCase();
  row.by = new Map(row.cells || []);
  return row;
});
const chosen = new Set(); // outcomes; none: all
let found = rows;
let built = 0;

// cell is what an area came to: the worst as a sign, and all as a title.
function cell(area, counts) {
  if (!counts) {
    return el("td", {});
  }
  const worst = counts.findIndex((n) => n > 0);
  const said = counts.map((n, i) => n > 0 && n + " " + counted[i][2]).filter(Boolean).join(", ");
  const [name, shape] = counted[worst];
  const count = worst <= troubles ? el("span", { class: "cell-count", "aria-hidden": "true" }, String(counts[worst])) : "";
  return el("td", {}, sign(name, shape, area + ": " + said), count);
}

function tableRow(row) {
  const [, shape, , word] = outcomes.find(([name]) => name === row.outcome);
  const name = row.link ? el("a", { href: row.link }, row.name) : row.name;
  return el("tr", {},
    el("th", { class: "server-name", scope: "row" }, name, row.server ? el("small", {}, row.server) : ""),
    el("td", { class: "result" }, sign(row.outcome, shape, word), row.said || ""),
    areas.map((area, i) => cell(area, row.by.get(i))));
}

// more builds the next piece of what was found.
function more() {
  byId("servers").append(...found.slice(built, built + piece).map(tableRow));
  built = Math.min(built + piece, found.length);
  byId("more").hidden = built === found.length;
  const all = rows.length === 1 ? "1 server" : rows.length + " servers";
  byId("shown").textContent = found.length + " of " + all + (built < found.length ? ", the first " + built + " here" : "");
}

function filter() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const area = byId("area").value === "" ? -1 : Number(byId("area").value);
  const troubled = (counts) => counts && counts.slice(0, troubles).some((n) => n > 0);
  found = rows.filter((row) => (chosen.size === 0 || chosen.has(row.outcome)) &&
    (area < 0 || troubled(row.by.get(area))) && words.every((word) => row.text.includes(word)));
  built = 0;
  byId("servers").replaceChildren();
  byId("matrix").hidden = found.length === 0;
  byId("nothing").hidden = found.length > 0;
  for (const button of byId("outcomes").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(chosen.has(button.dataset.outcome)));
  }
  more();
}

function showEverything() {
  chosen.clear();
  byId("search").value = byId("area").value = "";
  filter();
}

function chips() {
  for (const [name, shape, word] of outcomes) {
    const n = rows.filter((row) => row.outcome === name).length;
    if (n > 0) {
      const chip = el("button", { type: "button", class: "outcome " + name, "data-outcome": name },
        sign(name, shape, ""), word + " " + n);
      chip.addEventListener("click", (event) => {
        const names = picked(chosen, name, event);
        chosen.clear();
        names.forEach((picked) => chosen.add(picked));
        filter();
      });
      byId("outcomes").append(chip);
    }
  }
}

function onKey(event) {
  const writing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === "Escape") {
    showEverything();
  } else if (event.key === "/" && !writing) {
    event.preventDefault();
    byId("search").focus();
  }
}

function begin() {
  chips();
  byId("area").append(el("option", { value: "" }, "any"),
    ...areas.map((area, i) => el("option", { value: String(i) }, area)));
  byId("areas").append(el("tr", {}, el("th", { class: "server-name", scope: "col" }, "Server"),
    el("th", { class: "result", scope: "col" }, "Result"),
    areas.map((area) => el("th", { scope: "col" }, el("span", { class: "area-name" }, area)))));
  byId("controls").hidden = false;
  startTheme();
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("controls").addEventListener("input", filter);
  byId("everything").addEventListener("click", showEverything);
  byId("more").addEventListener("click", more);
  document.addEventListener("keydown", onKey);
  filter();
}

begin();
