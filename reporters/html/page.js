"use strict";

// The list of requirements, its filters, and how one moves in it.

const outcomes = [
  ["gating", "✕", "Blocking failures", "blocks"],
  ["error", "!", "Errors of mcpcheck", "error of mcpcheck"],
  ["fail", "✕", "Other failures", "fails, not blocking"],
  ["known", "~", "Known failures", "known failure"],
  ["inconclusive", "?", "Not decided", "not decided"],
  ["skip", "–", "Skipped", "skipped"],
  ["pass", "✓", "Passed", "passed"],
];
const rank = new Map(outcomes.map(([name], i) => [name, i]));
const signs = new Map(outcomes.map(([name, sign]) => [name, sign]));
const words = new Map(outcomes.map(([name, , , word]) => [name, word]));
const troubles = ["gating", "error", "fail", "known"];
const blocking = "blocks"; // the section of what fails the run, whatever its area

const [about, ...requirements] = JSON.parse(byId("index").textContent);
const several = about.revisions.length > 1;
let detailLines; // one value of JSON for each result

// detailOf reads the details of one result.
function detailOf(result) {
  detailLines = detailLines || byId("details").textContent.trim().split("\n");
  return JSON.parse(detailLines[result.at]);
}

// mark is a verdict as its sign.
function mark(outcome, text) {
  return sign(outcome, signs.get(outcome), text);
}

// worst is the result that a row shows: of those given the first in the order of outcomes.
function worst(results) {
  return results.reduce((a, b) => (rank.get(b.outcome) < rank.get(a.outcome) ? b : a));
}

// marksOf are the verdicts in each revision.
function marksOf(requirement) {
  const by = new Map(requirement.results.map((result) => [result.revision, result]));
  return el("span", { class: "marks" }, about.revisions.map((revision) => {
    const result = by.get(revision);
    return result ? mark(result.outcome, revision + ": " + words.get(result.outcome))
      : el("span", { class: "mark none", title: revision + ": does not hold" });
  }));
}

// rowBody is what an open row shows: the sentence, and every result.
function rowBody(requirement) {
  const id = requirement.id;
  const parts = [];
  if (requirement.statement) {
    parts.push(el("blockquote", {}, requirement.statement));
  }
  if (requirement.results.length === 1) {
    const result = requirement.results[0];
    parts.push(...resultBody(result, detailOf(result), about));
  } else {
    const first = worst(requirement.results);
    parts.push(...requirement.results.map((result) => revisionPart(requirement, result, result === first)));
  }
  const link = el("a", { href: "#" + id }, "link to this");
  parts.push(el("p", { class: "links" }, link, " · ", el("code", {}, "mcpcheck explain " + id)));
  return el("div", { class: "body" }, parts);
}

// revisionPart is the result in one of several revisions.
function revisionPart(requirement, result, open) {
  const summary = [
    mark(result.outcome, words.get(result.outcome)), el("strong", {}, result.revision),
    el("span", { class: "badge level-" + result.level }, result.level),
    el("span", { class: "said-line" }, result.said || ""),
  ];
  return fold({ class: "revision", id: result.revision + ":" + requirement.id, open }, summary, () =>
    el("div", { class: "revision-body" }, resultBody(result, detailOf(result), about)));
}

// makeRow is the row of a requirement.
function makeRow(requirement) {
  const result = worst(requirement.results);
  const signed = el("span", { class: "sign-of" });
  const level = el("span", {});
  const said = el("span", { class: "said-line" });
  const summary = [
    signed,
    el("span", { class: "what" },
      el("code", { class: "id" }, requirement.id), " ", el("span", { class: "title" }, requirement.title),
      requirement.checklist ? el("span", { class: "badge list" }, "release checklist") : "", said),
    several ? marksOf(requirement) : "",
    level,
  ];
  const row = fold({ class: "req", id: requirement.id }, summary, () => rowBody(requirement));
  const text = [requirement.id, requirement.title, requirement.statement || "",
    ...requirement.results.map((x) => x.said || "")].join("\n").toLowerCase();
  const entry = { requirement, row, text, summary: row.firstChild, signed, level, said };
  showWorst(entry, result);
  return entry;
}

// showWorst lets a row show one of its results.
function showWorst(entry, result) {
  if (entry.shown === result) {
    return;
  }
  entry.shown = result;
  entry.signed.replaceChildren(mark(result.outcome, words.get(result.outcome)));
  entry.level.className = "badge level-" + result.level;
  entry.level.textContent = result.level;
  entry.said.textContent = result.said || "";
}

// The page, built once.

const entries = requirements.map(makeRow);
const sections = new Map();
const chosen = new Set(); // outcomes; none is all

// sectionOf names the section of a row: its area, unless it blocks.
function sectionOf(entry) {
  return rank.get(entry.shown.outcome) <= rank.get("error") ? blocking : entry.requirement.area;
}

// buildList puts the rows into sections, what blocks before all else.
function buildList() {
  entries.sort((a, b) => (sectionOf(b) === blocking) - (sectionOf(a) === blocking));
  for (const entry of entries) {
    const name = sectionOf(entry);
    if (!sections.has(name)) {
      const count = el("small", {});
      const section = el("section", { class: "area" }, el("h2", {}, name + " ", count));
      sections.set(name, { count, section, entries: [] });
      byId(name === blocking ? "blocking" : "list").append(section);
    }
    const section = sections.get(name);
    section.entries.push(entry);
    section.section.append(entry.row);
  }
  const nothing = entries.length > 0 ? "No requirement is like that." : "Nothing was tested.";
  byId("list").append(el("p", { class: "nothing", id: "none", hidden: true }, nothing));
}

// buildOutcomes makes a button for each verdict that there is.
function buildOutcomes() {
  const counts = new Map();
  for (const { requirement } of entries) {
    for (const result of requirement.results) {
      counts.set(result.outcome, (counts.get(result.outcome) || 0) + 1);
    }
  }
  for (const [name, shape, label] of outcomes) {
    if (counts.has(name)) {
      const button = el("button", { type: "button", class: "outcome " + name, "data-outcome": name },
        el("span", { class: "mark " + name, "aria-hidden": "true" }, shape),
        el("b", {}, String(counts.get(name))), " " + label);
      button.addEventListener("click", (event) => choose(picked(chosen, name, event)));
      byId("outcomes").append(button);
    }
  }
}

// choose shows these outcomes.
function choose(names) {
  chosen.clear();
  for (const name of names) {
    chosen.add(name);
  }
  filter();
}

// buildChoices fills the selects.
function buildChoices() {
  const levels = ["MUST", "SHOULD", "MAY", "ADVICE"].filter((level) =>
    requirements.some((r) => r.results.some((result) => result.level === level)));
  options("area", "all areas", [...new Set(requirements.map((r) => r.area))]);
  options("level", "all levels", levels);
  options("revision", "all revisions", about.revisions);
  byId("revision-label").hidden = !several;
}

function options(id, all, values) {
  byId(id).append(el("option", { value: "" }, all), ...values.map((value) => el("option", { value }, value)));
}

// filter shows the rows that are wanted, and says how many.
function filter() {
  const wanted = {
    area: byId("area").value, level: byId("level").value, revision: byId("revision").value,
    terms: byId("search").value.toLowerCase().split(/\s+/).filter((term) => term),
  };
  let shown = 0;
  for (const section of sections.values()) {
    let here = 0;
    for (const entry of section.entries) {
      const matching = matches(entry, wanted);
      entry.row.hidden = matching.length === 0;
      if (matching.length > 0) {
        showWorst(entry, worst(matching));
        here++;
      }
    }
    section.section.hidden = here === 0;
    section.count.textContent = here === section.entries.length ? String(here) : here + " of " + section.entries.length;
    shown += here;
  }
  for (const button of byId("outcomes").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(chosen.has(button.dataset.outcome)));
  }
  byId("none").hidden = shown > 0;
  byId("shown").textContent = shown + " of " + entries.length + " requirements";
}

// matches are the results of a row for which it is wanted.
function matches(entry, wanted) {
  const { requirement, text } = entry;
  if (wanted.area && requirement.area !== wanted.area || !wanted.terms.every((term) => text.includes(term))) {
    return [];
  }
  return requirement.results.filter((result) =>
    (chosen.size === 0 || chosen.has(result.outcome)) &&
    (!wanted.level || result.level === wanted.level) &&
    (!wanted.revision || result.revision === wanted.revision));
}

// showEverything takes all filters back.
function showEverything() {
  byId("controls").reset();
  choose([]);
}

// shownRows are the rows that are there to see.
const shownRows = () => entries.filter((entry) => !entry.row.hidden && !entry.row.parentNode.hidden);

// followLink opens what the address names: area/name, or revision:area/name.
function followLink() {
  let name = location.hash.slice(1);
  try {
    name = decodeURIComponent(name);
  } catch {
    // it stays as it is
  }
  const entry = entries.find(({ requirement }) => name === requirement.id || name.endsWith(":" + requirement.id));
  if (!entry) {
    return;
  }
  if (entry.row.hidden) {
    showEverything();
  }
  open(entry.row);
  const part = byId(name);
  if (part && part !== entry.row) {
    open(part);
  }
  (part || entry.row).scrollIntoView({ block: "start" });
  (part || entry.row).firstChild.focus({ preventScroll: true });
}

// open opens details and builds what is in them, without waiting for the event.
function open(details) {
  details.build();
  details.open = true;
}

// Keys.

// move puts the focus on another row.
function move(from, key) {
  const rows = shownRows();
  const at = rows.findIndex((entry) => entry.row.contains(from));
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[key];
  const entry = rows[Math.max(0, Math.min(rows.length - 1, to))];
  if (entry) {
    entry.summary.focus();
    entry.summary.scrollIntoView({ block: "nearest" });
  }
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  const field = event.target.matches("input, select, textarea");
  const inRow = event.target.matches(".req > summary");
  if (event.key === "/" && !field) {
    byId("search").focus();
  } else if (event.key === "Escape" && !event.target.matches("select")) {
    showEverything();
  } else if (inRow && ["ArrowDown", "ArrowUp", "Home", "End"].includes(event.key)) {
    move(event.target, event.key);
  } else if (event.target === byId("search") && event.key === "ArrowDown") {
    move(document.body, "Home");
  } else {
    return;
  }
  event.preventDefault();
}

// Printing: what gates is printed in full, of the rest what is open.

let opened = [];

function beforePrint() {
  opened = shownRows().filter((entry) => entry.shown.outcome === "gating" && !entry.row.open).slice(0, 100);
  opened.forEach((entry) => open(entry.row));
}

function afterPrint() {
  opened.forEach((entry) => (entry.row.open = false));
}

// start makes the page.
function start() {
  buildList();
  buildOutcomes();
  buildChoices();
  byId("controls").hidden = entries.length === 0;
  startTheme();
  const trouble = troubles.filter((name) => byId("outcomes").querySelector("." + name));
  choose(trouble);
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("controls").addEventListener("input", filter);
  byId("everything").addEventListener("click", showEverything);
  byId("open").addEventListener("click", () => shownRows().forEach((entry) => open(entry.row)));
  byId("close").addEventListener("click", () => entries.forEach((entry) => (entry.row.open = false)));
  document.addEventListener("keydown", onKey);
  addEventListener("hashchange", followLink);
  addEventListener("beforeprint", beforePrint);
  addEventListener("afterprint", afterPrint);
  followLink();
}

start();
