// Elements of the page. Strings of documents become text nodes only, never markup.
"use strict";

/** Return an element; functions among its attributes are listeners, null and false are left out. */
function el(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...presentNodes(children));
  return element;
}

function presentNodes(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined);
}

function fill(element, ...children) {
  element.replaceChildren(...presentNodes(children));
}

/** Set custom properties of CSS; the page's policy allows no `style` attributes. */
function setVariables(element, variables) {
  for (const [name, value] of Object.entries(variables)) {
    element.style.setProperty(name, String(value));
  }
  return element;
}

function byId(id) {
  return document.getElementById(id);
}

function formatNumber(value) {
  return value.toLocaleString("en-US");
}

function countOf(count, noun) {
  return `${formatNumber(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function formatPercent(share) {
  return share > 0 && share < 0.01 ? "<1 %" : `${Math.round(share * 100)} %`;
}

/** Return a size in the largest unit in which it is at least 1. */
function formatBytes(bytes) {
  if (bytes < 1000) return countOf(bytes, "byte");
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function capitalize(word) {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function toJson(value, indent) {
  return JSON.stringify(value, null, indent);
}

let lastId = 0;

function nextId(prefix) {
  lastId += 1;
  return `${prefix}-${lastId}`;
}

/** Return a section with its heading; `id` makes it a place that a link can lead to. */
function section(title, { id = nextId("section"), lead = null } = {}, ...children) {
  return el("section", { id, "aria-labelledby": `${id}-title` },
    el("header", { class: "section-head" }, el("h3", { id: `${id}-title` }, title),
      lead ? el("p", { class: "lead" }, lead) : null),
    ...children);
}

/** Return a name that may be broken after its underscores. */
function breakableName(name) {
  return name.split(/(?<=[_-])/).flatMap((part, at) => (at ? [el("wbr"), part] : [part]));
}

/** Return a path whose variables stand out, and that may be broken before its slashes. */
function pathLabel(path) {
  const parts = path.split(/(?=\/)/).flatMap((part, at) => [
    at ? el("wbr") : null,
    part.split(/(\{[^{}]*\})/).map((text) =>
      (text.startsWith("{") ? el("span", { class: "variable" }, text) : text)),
  ]);
  return el("bdi", { class: "path", dir: "ltr" }, parts);
}

function chip(text, kind = "") {
  return el("span", { class: `chip ${kind}` }, text);
}

const SAFETIES = {
  "read-only": "Reads only: a call changes nothing.",
  additive: "Adds: a call may create something, and changes nothing that exists.",
  destructive: "May change or delete what exists.",
};

/** Return the badge of a method. Its outline, tint or fill says what a call may do. */
function methodBadge(method, safety) {
  return el("span", { class: `method ${safety}`, title: SAFETIES[safety] }, method);
}

function safetyChip(safety) {
  return el("span", { class: `safety ${safety}`, title: SAFETIES[safety] }, safety);
}

/** Return a bar for a share of 1; it is decoration beside a number in text. */
function meter(share, kind = "") {
  const bar = el("span", { class: `meter ${kind}`, "aria-hidden": "true" },
    share > 0 ? el("span") : null);
  return setVariables(bar, { "--share": Math.max(0, Math.min(1, share)) });
}

function emptyState(text, hint) {
  return el("div", { class: "empty" }, el("p", {}, text),
    hint ? el("p", { class: "hint" }, hint) : null);
}

function faultMessage(...content) {
  return el("p", { class: "fault", role: "alert" }, content);
}

/** Return the state of a view that cannot be displayed, with a button that tries again. */
function failureState(error, retry) {
  return el("div", { class: "failure" }, el("h2", {}, "This cannot be displayed"),
    el("p", { role: "alert" }, markdownLine(capitalize(error.message))),
    el("button", { type: "button", click: retry }, "Try again"));
}

function hintLine(...content) {
  return el("p", { class: "hint" }, content);
}

/** Return a table; the cells are strings or elements, `numeric` the columns of numbers. */
function dataTable(caption, heads, rows, { numeric = [] } = {}) {
  const kind = (at) => (numeric.includes(at) ? "number" : null);
  return el("div", { class: "table", tabindex: "0", role: "group", "aria-label": caption },
    el("table", {},
      el("thead", {}, el("tr", {}, heads.map((head, at) =>
        el("th", { scope: "col", class: kind(at) }, head)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, at) =>
        el("td", { class: kind(at) }, cell)))))));
}

/** Return terms with their descriptions; those without one are left out. */
function factList(pairs) {
  const rows = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el("dl", { class: "facts" }, rows.map(([name, value]) =>
    el("div", {}, el("dt", {}, name), el("dd", { dir: "auto" }, value))));
}

/** Return one control of several choices, of which one is chosen. */
function segmentedControl(label, choices, chosen, onChange) {
  const name = nextId("choice");
  const inputs = choices.map(([value, text]) => el("label", {},
    el("input", { type: "radio", name, value, checked: value === chosen,
      change: () => onChange(value) }),
    el("span", {}, text)));
  return el("div", { class: "segmented", role: "radiogroup", "aria-label": label }, inputs);
}

/** Return tabs with their panels: arrow keys choose a tab, as ARIA's pattern has it. */
function tabList(label, panels) {
  const names = Object.keys(panels);
  const id = nextId("tabs");
  const buttons = names.map((name, at) => el("button", { type: "button", role: "tab",
    id: `${id}-${at}`, "aria-controls": `${id}-panel-${at}` }, name));
  const bodies = names.map((name, at) => el("div", { role: "tabpanel", id: `${id}-panel-${at}`,
    "aria-labelledby": `${id}-${at}` }, panels[name]));

  function choose(at, isFocused) {
    buttons.forEach((button, index) => {
      button.setAttribute("aria-selected", String(index === at));
      button.tabIndex = index === at ? 0 : -1;
      bodies[index].hidden = index !== at;
    });
    if (isFocused) buttons[at].focus();
  }

  function moveByKey(event, at) {
    const last = names.length - 1;
    const places = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at ? at - 1 : last,
      Home: 0, End: last };
    if (!Object.hasOwn(places, event.key)) return;
    event.preventDefault();
    choose(places[event.key], true);
  }

  buttons.forEach((button, at) => {
    button.addEventListener("click", () => choose(at, false));
    button.addEventListener("keydown", (event) => moveByKey(event, at));
  });
  choose(0, false);
  const element = el("div", { class: "tabs" },
    el("div", { role: "tablist", "aria-label": label }, buttons), bodies);
  return { element, choose: (name) => choose(names.indexOf(name), false) };
}
