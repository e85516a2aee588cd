// A form made from a schema. Each control has an `element` and a `read()`, which returns the value,
// or `undefined` where the field is empty.
"use strict";

const DEEPEST = 4;
const LONG_TEXT = 80;
const FEW = 8;
let fieldNumber = 0;

/** A field whose text is not a value: it says so itself, and the form cannot be sent. */
class FieldError extends Error {}

/** Return a control for an object's members; the required ones come first. */
function objectControl(schema, root, initial, depth) {
  const required = new Set(schema.required || []);
  const names = Object.keys(schema.properties || {});
  names.sort((one, other) => required.has(other) - required.has(one));
  const fields = names.map((name) => {
    const given = isObject(initial) && Object.hasOwn(initial, name) ? initial[name] : undefined;
    return { name, ...fieldOf(name, schema.properties[name], root, given, required.has(name), depth) };
  });
  const shown = fields.filter(({ name, filled }) => required.has(name) || filled);
  const others = fields.filter((field) => !shown.includes(field));
  const opens = !shown.length && others.length <= FEW;
  const more = others.length ? el("details", { class: "optional", open: opens },
    el("summary", {}, `${counted(others.length, "optional argument")}`),
    others.map(({ element }) => element)) : null;
  return {
    element: el("div", { class: "fields" }, shown.map(({ element }) => element), more),
    read() {
      const found = {};
      for (const { name, read } of fields) {
        const value = read();
        if (value !== undefined) {
          Object.defineProperty(found, name,
            { value, enumerable: true, writable: true, configurable: true });
        }
      }
      return found;
    },
  };
}

/** Return a labelled control for one member. */
function fieldOf(name, part, root, given, required, depth) {
  const { schema } = resolved(part, root);
  const facts = isObject(schema) ? schema : {};
  const id = `field-${fieldNumber += 1}`;
  const control = controlFor(facts, root, given, depth, id, required);
  const type = el("span", { class: "type" }, typeOf(part, root));
  const need = required ? el("span", { class: "need" }, "required") : null;
  const hint = shortened(facts.description);
  const about = hint ? el("p", { class: "hint", id: `${id}-hint` }, hint) : null;
  const filled = given !== undefined;
  if (control.isGroup) {
    const legend = el("legend", {}, el("code", {}, name), " ", type, " ", need);
    return { filled, read: control.read,
      element: el("fieldset", {}, legend, about, control.element) };
  }
  const fault = el("p", { class: "fault", id: `${id}-fault`, hidden: true });
  control.input.setAttribute("aria-describedby", `${id}-fault${about ? ` ${id}-hint` : ""}`);
  if (required) control.input.setAttribute("aria-required", "true");
  return {
    filled,
    element: el("div", { class: "field" },
      el("label", { for: id }, el("code", {}, name), " ", type, " ", need),
      control.element, fault, about),
    read: () => checked(control, fault),
  };
}

/** Return the value of a control; a text that is not one is told below the field. */
function checked(control, fault) {
  try {
    const value = control.read();
    fault.hidden = true;
    control.input.removeAttribute("aria-invalid");
    return value;
  } catch (error) {
    if (!(error instanceof FieldError)) throw error;
    fault.textContent = error.message;
    fault.hidden = false;
    control.input.setAttribute("aria-invalid", "true");
    throw error;
  }
}

function controlFor(facts, root, given, depth, id, required) {
  const schema = withoutNull(withoutFile(facts, root, given), root);
  const kind = Array.isArray(schema.type) && schema.type.length === 1 ? schema.type[0] : schema.type;
  if (Array.isArray(schema.enum) || Object.hasOwn(schema, "const")) {
    return choiceControl(schema.enum || [schema.const], given, id);
  }
  if (kind === "boolean") return choiceControl([true, false], given, id);
  if (kind === "integer" || kind === "number") return numberControl(kind, schema, given, id);
  if (kind === "string") return textControl(schema, given, id);
  const isPlain = !partsOf(schema).some((part) => !part.isMember && part.name !== "other members");
  if (kind === "object" && schema.properties && isPlain && depth < DEEPEST) {
    return groupControl(schema, root, given, depth, required);
  }
  if (kind === "array" && depth < DEEPEST && isObject(schema.items)) {
    return listControl(schema.items, root, given, depth, required);
  }
  return isScalar(schema, root) ? mixedControl(given, id) : jsonControl(given, id);
}

/** Tell whether a schema takes texts, and other values that are neither objects nor arrays. */
function isScalar(schema, root) {
  const kinds = typeOf(schema, root).split(" or ");
  return kinds.includes("string")
    && kinds.every((kind) => ["string", "integer", "number", "boolean", "null"].includes(kind));
}

/** Return a control for a text or another value: JSON where it is any, else the text. */
function mixedControl(given, id) {
  const input = el("input", { id, type: "text", autocomplete: "off", spellcheck: "false" });
  const isText = typeof given === "string" && orText(given) === given;
  input.value = given === undefined ? "" : isText ? given : json(given);
  return { input, element: input,
    read: () => (input.value === "" ? undefined : orText(input.value)) };
}

function orText(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Return the only other form of a value that may be a file, unless a file is given. */
function withoutFile(facts, root, given) {
  const branches = Array.isArray(facts.anyOf) && !isObject(given) ? facts.anyOf : [];
  const others = branches.filter((part) => {
    const properties = resolved(part, root).schema.properties;
    return !(isObject(properties) && isObject(properties.base64) && isObject(properties.text));
  });
  if (others.length !== 1 || branches.length < 2) return facts;
  const { anyOf, ...words } = facts;
  return { ...words, ...resolved(others[0], root).schema };
}

/** Return the only other form of a value that may be null, else the schema. */
function withoutNull(facts, root) {
  if (Array.isArray(facts.type) && facts.type.length === 2 && facts.type.includes("null")) {
    const { type, ...others } = facts;
    return { ...others, type: type.find((kind) => kind !== "null") };
  }
  const branches = facts.anyOf || facts.oneOf;
  const others = Array.isArray(branches) ? branches.filter((part) => part.type !== "null") : [];
  if (others.length === 1 && branches.length === 2) return resolved(others[0], root).schema;
  return facts;
}

function choiceControl(values, given, id) {
  const texts = values.map((value) => json(value));
  const options = values.map((value, at) =>
    el("option", { value: String(at) }, typeof value === "string" ? value : texts[at]));
  const input = el("select", { id }, el("option", { value: "" }, "not given"), options);
  const at = texts.indexOf(json(given));
  input.value = given === undefined || at < 0 ? "" : String(at);
  return { input, element: input,
    read: () => (input.value === "" ? undefined : values[Number(input.value)]) };
}

function numberControl(kind, schema, given, id) {
  const input = el("input", { id, type: "text", autocomplete: "off",
    inputmode: kind === "integer" ? "numeric" : "decimal",
    placeholder: Object.hasOwn(schema, "default") ? plain(schema.default) : null });
  input.value = given === undefined ? "" : plain(given);
  return { input, element: input, read() {
    const text = input.value.trim();
    if (text === "") return undefined;
    if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text)) {
      throw new FieldError(`${text} is not a number.`);
    }
    const isExact = /[.eE]/.test(text) || Number.isSafeInteger(Number(text));
    // A larger integer is sent as it was typed, where the browser can.
    return isExact || !JSON.rawJSON ? Number(text) : JSON.rawJSON(text);
  } };
}

function textControl(schema, given, id) {
  const isLong = !schema.format && !schema.pattern && !(schema.maxLength <= LONG_TEXT);
  const input = isLong
    ? el("textarea", { id, rows: "1", spellcheck: "false" })
    : el("input", { id, type: "text", autocomplete: "off", spellcheck: "false" });
  if (Object.hasOwn(schema, "default")) input.placeholder = plain(schema.default);
  else if (schema.format) input.placeholder = schema.format;
  input.value = given === undefined ? "" : plain(given);
  return { input, element: input, read: () => (input.value === "" ? undefined : input.value) };
}

/** Return a text itself, and another value as JSON: `String` needs methods, which members hide. */
function plain(value) {
  return typeof value === "string" ? value : json(value);
}

function jsonControl(given, id) {
  const input = el("textarea", { id, rows: "2", spellcheck: "false", placeholder: "JSON" });
  input.value = given === undefined ? "" : json(given, 2);
  return { input, element: input, read: () => parsed(input.value) };
}

/** Return a JSON text's value; `undefined` for an empty text. */
function parsed(text) {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new FieldError(`not JSON: ${error.message}`);
  }
}

/** Return a control for an object; an optional one is left out while its fields are empty. */
function groupControl(schema, root, given, depth, required) {
  const inner = objectControl(schema, root, given, depth + 1);
  return { isGroup: true, element: inner.element, read() {
    const found = inner.read();
    return required || Object.keys(found).length ? found : undefined;
  } };
}

/** Return a control for an array: an item for each click on a button. */
function listControl(items, root, given, depth, required) {
  const rows = [];
  const list = el("div", { class: "items" });
  const add = el("button", { type: "button", click: () => addItem(undefined, true) }, "Add an item");

  function addItem(value, focus) {
    const field = fieldOf(`item ${rows.length + 1}`, items, root, value, true, depth + 1);
    const row = { read: field.read };
    const remove = el("button", { type: "button", click: () => {
      rows.splice(rows.indexOf(row), 1);
      element.remove();
      add.focus();
      add.dispatchEvent(new Event("input", { bubbles: true }));
    } }, "Remove");
    const element = el("div", { class: "item" }, field.element, remove);
    rows.push(row);
    list.append(element);
    if (focus) element.querySelector("input, select, textarea, button").focus();
  }

  for (const value of Array.isArray(given) ? given : []) addItem(value, false);
  return { isGroup: true, element: el("div", {}, list, add), read() {
    const found = rows.map(({ read }) => read()).filter((value) => value !== undefined);
    return required || found.length ? found : undefined;
  } };
}

function shortened(text) {
  if (typeof text !== "string") return "";
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/** Return the arguments' form, which can be edited as JSON as well. */
function argumentsForm(schema, initial) {
  const place = el("div", {});
  const toggle = el("button", { type: "button", class: "quiet", click: change });
  const fault = el("p", { class: "fault", role: "alert" });
  let control = null;
  let isText = false;

  function show(values) {
    if (isText) {
      const field = jsonControl(values, "arguments");
      control = { read: () => field.read() || {} };
      field.input.rows = 12;
      fill(place, el("label", { for: "arguments" }, "Arguments as JSON"), field.element);
    } else {
      control = objectControl(schema, schema, values, 0);
      fill(place, control.element);
    }
    toggle.textContent = isText ? "Edit in the form" : "Edit as JSON";
  }

  function change() {
    fault.textContent = "";
    try {
      const values = control.read();
      isText = !isText;
      show(values);
    } catch (error) {
      fault.textContent = error.message;
    }
  }

  show(initial);
  return {
    element: el("div", {}, place, fault, toggle),
    /** Return the arguments, or null while a field has a fault. */
    read() {
      try {
        const found = control.read();
        if (!isObject(found)) throw new FieldError("the arguments are an object.");
        fault.textContent = "";
        return found;
      } catch (error) {
        if (!(error instanceof FieldError)) throw error;
        fault.textContent = error.message;
        return null;
      }
    },
  };
}
