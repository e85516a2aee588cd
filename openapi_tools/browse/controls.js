// Controls for single values. Each has an `element`, the `input` that takes the focus, and `read`,
// which returns the value, or `undefined` where the field is empty.
"use strict";

const LONG_STRING = 200; // characters of maxLength; a longer string is written on several lines
const LONG_TEXT_NAMES = ["body", "text", "content", "contents", "description", "message", "notes",
  "comment", "markdown", "html", "prompt", "instructions", "script", "template"];
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const INPUT = { autocomplete: "off", spellcheck: "false", autocapitalize: "off" };

/** A field whose text is not a value: it says so itself, and the form cannot be sent. */
class FieldError extends Error {}

/** Return a control for an enum: one choice, or none. */
function selectControl(values, value, { id, required }) {
  const texts = values.map((each) => toJson(each));
  const place = value === undefined ? -1 : texts.indexOf(toJson(value));
  const input = el("select", { id },
    el("option", { value: "" }, required ? "choose one" : "not set"),
    values.map((each, at) =>
      el("option", { value: String(at) }, typeof each === "string" ? each : texts[at])));
  input.value = place < 0 ? "" : String(place);
  return { input, element: input,
    read: () => (input.value === "" ? undefined : values[Number(input.value)]) };
}

/** Return a control for true and false; one that is not required may also be left out. */
function booleanControl(value, { id, required, label }) {
  const choices = [["true", "true"], ["false", "false"]];
  if (!required) choices.unshift(["", "not set"]);
  const chosen = value === undefined ? (required ? "false" : "") : String(value);
  const element = segmentedControl(label, choices, chosen, () => {});
  element.id = id;
  const input = element.querySelector("input");
  return { input, element, isGroupOfInputs: true, read() {
    const choice = element.querySelector("input:checked").value;
    return choice === "" ? undefined : choice === "true";
  } };
}

function numberControl(schema, value, { id }) {
  const isInteger = schema.type === "integer";
  const placeholder = Object.hasOwn(schema, "default") ? plainText(schema.default) : null;
  const input = el("input", { id, type: "text", placeholder, ...INPUT,
    inputmode: isInteger ? "numeric" : "decimal" });
  input.value = value === undefined ? "" : plainText(value);
  return { input, element: input, read: () => readNumber(input.value.trim()) };
}

function readNumber(text) {
  if (text === "") return undefined;
  if (!NUMBER.test(text)) throw new FieldError(`“${text}” is not a number.`);
  const isExact = /[.eE]/.test(text) || Number.isSafeInteger(Number(text));
  // A larger integer is sent as it was typed, where the browser can.
  return isExact || !JSON.rawJSON ? Number(text) : JSON.rawJSON(text);
}

/** Return a control for a string: one line, or several where its text is likely to have them. */
function stringControl(schema, value, { id, label }) {
  const text = value === undefined ? "" : plainText(value);
  const placeholder = Object.hasOwn(schema, "default") ? plainText(schema.default)
    : schema.format || null;
  const attributes = { id, dir: "auto", placeholder, ...INPUT };
  const isShort = Boolean(schema.format || schema.pattern || schema.maxLength <= LONG_STRING);
  const isLong = text.includes("\n")
    || (!isShort && (isLongTextName(label) || schema.maxLength > LONG_STRING));
  const input = isLong ? el("textarea", { ...attributes, rows: "2" })
    : el("input", { ...attributes, type: "text" });
  input.value = text;
  const control = { input, element: input,
    read: () => (control.input.value === "" ? undefined : control.input.value) };
  if (!isLong) input.addEventListener("paste", (event) => keepPastedLines(event, control));
  return control;
}

/** Return whether the last word of a name says that its string has several lines. */
function isLongTextName(name) {
  const words = name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase().split(/[_-]/);
  return LONG_TEXT_NAMES.includes(words.at(-1));
}

/** Replace an input by a text area when lines are pasted: it would join them. */
function keepPastedLines(event, control) {
  const pasted = event.clipboardData.getData("text");
  if (!/[\r\n]/.test(pasted)) return;
  event.preventDefault();
  const { input } = control;
  const area = el("textarea", { rows: "4" });
  for (const { name, value } of input.attributes) {
    if (name !== "type") area.setAttribute(name, value);
  }
  area.value = input.value;
  area.setRangeText(pasted, input.selectionStart, input.selectionEnd, "end");
  input.replaceWith(area);
  control.input = area;
  area.focus();
  area.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Return a string itself, and another value as JSON. `String` calls methods of a document. */
function plainText(value) {
  return typeof value === "string" ? value : toJson(value);
}

/** Return a control for a string or another value: JSON where it is any, else the string. */
function mixedControl(value, { id }) {
  const input = el("input", { id, type: "text", dir: "auto", ...INPUT });
  const isPlain = typeof value === "string" && parseOrText(value) === value;
  input.value = value === undefined ? "" : isPlain ? value : toJson(value);
  return { input, element: input,
    read: () => (input.value === "" ? undefined : parseOrText(input.value)) };
}

function parseOrText(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Return an editor for a value of a schema that no form fits, with the schema below it. */
function jsonControl(value, { id, label, schema = null, root = null, rows = 3 }) {
  const text = value === undefined ? "" : toJson(value, 2);
  const editor = jsonEditor({ id, label, rows, value: text });
  const tree = schema && schemaParts(schema).length
    ? el("details", { class: "quiet" }, el("summary", {}, "Schema"), schemaTree(schema, root))
    : null;
  return { input: editor.input, element: el("div", {}, editor.element, tree),
    read: () => parseField(editor.input.value) };
}

/** Return a JSON text's value; `undefined` for an empty text. */
function parseField(text) {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new FieldError(`This is not JSON: ${error.message}`);
  }
}
