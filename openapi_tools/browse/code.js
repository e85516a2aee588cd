// Blocks of code: JSON is highlighted, everything can be copied and scrolled by keyboard.
"use strict";

const MOST_HIGHLIGHTED = 200_000; // characters; of more, elements would slow the page
const COPIED_FOR = 1500; // milliseconds
// Each alternative ends where the next one begins, so a match looks at no character twice.
const JSON_TOKEN = /"(?:[^"\\]|\\.)*"(?=(\s*:)?)|-?\d[\d.eE+-]*|true|false|null|[\s,:[\]{}]+|./gs;

/** Return JSON text as elements: keys, strings, numbers and literals. */
function highlightJson(text) {
  const fragment = document.createDocumentFragment();
  if (text.length > MOST_HIGHLIGHTED) {
    fragment.append(text);
    return fragment;
  }
  for (const match of text.matchAll(JSON_TOKEN)) {
    const kind = jsonKind(match[0], match[1] !== undefined);
    fragment.append(kind ? el("span", { class: `json-${kind}` }, match[0]) : match[0]);
  }
  return fragment;
}

function jsonKind(token, isKey) {
  if (token.length > 1 && token.startsWith('"')) return isKey ? "key" : "string";
  if (/^-?\d/.test(token)) return "number";
  return /^(true|false|null)$/.test(token) ? "literal" : "";
}

/** Return a block of code with a button that copies it; `show` replaces its text. */
function codeBlock(label, text = "", { isJson = false } = {}) {
  const block = el("pre", { tabindex: "0", role: "group", "aria-label": label });
  const show = (content) => fill(block, isJson ? highlightJson(content) : content);
  show(text);
  const element = el("div", { class: "code" }, block,
    copyButton(() => block.textContent, label));
  return { element, show };
}

function jsonBlock(label, value) {
  return codeBlock(label, toJson(value, 2), { isJson: true }).element;
}

function copyButton(readText, label) {
  const button = el("button", { type: "button", class: "copy", "aria-label": `Copy: ${label}` },
    "Copy");
  button.addEventListener("click", async () => {
    let outcome = "Copied";
    try {
      await navigator.clipboard.writeText(readText());
    } catch {
      outcome = "Not allowed"; // by the browser; the text can be selected
    }
    button.textContent = outcome;
    setTimeout(() => { button.textContent = "Copy"; }, COPIED_FOR);
  });
  return button;
}

/** Return an editor of JSON: a text field above its highlighted text, with the same metrics. */
function jsonEditor({ id, label, rows = 2, value = "" }) {
  const shadow = el("pre", { class: "editor-text", "aria-hidden": "true" });
  const input = el("textarea", { id, rows, spellcheck: "false", autocomplete: "off",
    autocapitalize: "off", "aria-label": label, placeholder: "JSON" });
  const highlight = () => {
    fill(shadow, highlightJson(input.value), "\n"); // the last line may be empty
  };
  input.addEventListener("input", highlight);
  input.value = value;
  highlight();
  return { input, element: el("div", { class: "editor" }, shadow, input) };
}
