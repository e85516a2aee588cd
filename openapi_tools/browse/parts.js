// Small parts of the page. Texts of documents become text nodes only, never markup.
"use strict";

/** Return an element; `facts` are attributes, or properties where their value is no text. */
function el(tag, facts, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(facts || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null));
}

function byId(id) {
  return document.getElementById(id);
}

function number(value) {
  return value.toLocaleString("en-US");
}

function counted(count, noun) {
  return `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function inBytes([bytes, tokens]) {
  return `${number(bytes)} bytes, ${number(tokens)} tokens`;
}

function section(title, ...children) {
  const id = `h-${title.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  return el("section", { "aria-labelledby": id }, el("h3", { id }, title), ...children);
}

/** Return a name that may be broken after its underscores. */
function breakable(name) {
  return name.split(/(?<=_)/).flatMap((part, at) => (at ? [el("wbr"), part] : [part]));
}

function chip(text, kind) {
  return el("span", { class: `chip ${kind || ""}` }, text);
}

function methodChip(method) {
  return el("span", { class: `method m-${method.toLowerCase()}` }, method);
}

/** Return a block of code that can be scrolled by keyboard, with a button that copies it. */
function codeBlock(label, text) {
  const block = el("pre", { tabindex: "0", role: "group", "aria-label": label }, text);
  const copy = el("button", { type: "button", class: "copy" }, "Copy");
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.textContent);
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  });
  return el("div", { class: "code" }, block, copy);
}

/** Return tabs with their panels: arrow keys choose a tab, as ARIA's pattern has it. */
function tabs(label, panels) {
  const names = Object.keys(panels);
  const id = `t-${label.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  const buttons = names.map((name, at) =>
    el("button", { type: "button", role: "tab", id: `${id}-${at}`, "aria-controls": `${id}-p${at}` },
      name));
  const bodies = names.map((name, at) =>
    el("div", { role: "tabpanel", id: `${id}-p${at}`, "aria-labelledby": `${id}-${at}` },
      panels[name]));

  function choose(at, focus) {
    buttons.forEach((button, index) => {
      button.setAttribute("aria-selected", String(index === at));
      button.tabIndex = index === at ? 0 : -1;
      bodies[index].hidden = index !== at;
    });
    if (focus) buttons[at].focus();
  }

  buttons.forEach((button, at) => {
    button.addEventListener("click", () => choose(at, false));
    button.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) choose((at + step + names.length) % names.length, true);
    });
  });
  choose(0, false);
  return el("div", { class: "tabs" },
    el("div", { role: "tablist", "aria-label": label }, buttons), bodies);
}

/** Return a table; the cells are texts or elements. */
function table(caption, heads, rows) {
  return el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {},
      el("caption", { class: "unseen" }, caption),
      el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell) => el("td", {}, cell)))))));
}
