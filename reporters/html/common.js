"use strict";

// What all pages share: elements, and the theme. All text that a server may have written goes through el, which puts it
// into text nodes and never into markup.

const byId = (id) => document.getElementById(id);

// el makes an element. Attributes that are false or undefined are left out; children are elements or texts.
function el(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value !== undefined && value !== false) {
      made.setAttribute(key, value === true ? "" : value);
    }
  }
  made.append(...children.flat().filter((child) => child !== undefined && child !== ""));
  return made;
}

// sign is a verdict as a sign, with a word for those who do not see it.
function sign(outcome, shape, word) {
  return el("span", { class: "mark " + outcome, title: word },
    el("span", { "aria-hidden": "true" }, shape), el("span", { class: "aside" }, word));
}

// remembered is a setting that outlasts the page where the browser lets it.
function remembered(value) {
  try {
    if (value !== undefined) {
      localStorage.setItem("mcpcheck-theme", value);
    }
    return localStorage.getItem("mcpcheck-theme");
  } catch {
    return undefined;
  }
}

const isDark = () => (document.documentElement.dataset.theme ||
  (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

function setTheme(theme) {
  if (theme) {
    document.documentElement.dataset.theme = theme;
  }
  byId("theme").textContent = isDark() ? "Light theme" : "Dark theme";
}

// startTheme shows the theme that was chosen last, on whichever page, and lets it be changed.
function startTheme() {
  setTheme(remembered());
  byId("theme").hidden = false;
  byId("theme").addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    remembered(theme);
    setTheme(theme);
  });
}

// picked are the outcomes that are shown after a click on one: that alone, or all where it was alone. With Ctrl, Cmd or
// Shift it joins the others, or leaves them.
function picked(chosen, name, event) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) {
    return chosen.has(name) ? [...chosen].filter((other) => other !== name) : [...chosen, name];
  }
  return chosen.size === 1 && chosen.has(name) ? [] : [name];
}
