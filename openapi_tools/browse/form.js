// A form made from a schema: fields for the properties of objects, items of arrays, and as JSON.
"use strict";

const DEEPEST_FORM = 4;
const FEW_FIELDS = 8;

/** Return a control for an object's properties; the required ones come first. */
function objectControl(schema, root, value, depth) {
  const required = new Set(schema.required || []);
  const names = Object.keys(schema.properties || {});
  names.sort((one, other) => required.has(other) - required.has(one));
  const fields = names.map((name) => {
    const initial = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    return { name, ...labelledField(schema.properties[name], root, {
      name, value: initial, required: required.has(name), depth }) };
  });
  return { element: fieldGroups(fields, required), read: () => readFields(fields) };
}

/** Return the fields that are required or have a value, then the others folded away. */
function fieldGroups(fields, required) {
  const first = fields.filter(({ name, hasValue }) => required.has(name) || hasValue);
  const rest = fields.filter((field) => !first.includes(field));
  const opens = !first.length && rest.length <= FEW_FIELDS;
  const folded = rest.length ? el("details", { class: "optional", open: opens },
    el("summary", {}, countOf(rest.length, "optional argument")),
    rest.map(({ element }) => element)) : null;
  return el("div", { class: "fields" }, first.map(({ element }) => element), folded);
}

function readFields(fields) {
  const values = {};
  for (const { name, read } of fields) {
    const value = read();
    // A property may be called `__proto__`; an assignment would set the prototype.
    if (value !== undefined) {
      Object.defineProperty(values, name,
        { value, enumerable: true, writable: true, configurable: true });
    }
  }
  return values;
}

/** Return a control with its label, description and place for a fault. */
function labelledField(part, root, { name, value, required, depth }) {
  const { schema } = followReferences(part, root);
  const facts = isObject(schema) ? schema : {};
  const id = nextId("field");
  const control = createControl(facts, root, value, { id, required, depth, label: name });
  const hint = typeof facts.description === "string" && facts.description
    ? fieldHint(facts.description, id) : null;
  const title = [
    el("code", { class: "field-name", dir: "auto" }, breakableName(name)),
    el("span", { class: "type", dir: "auto" }, describeType(part, root)),
    required ? el("span", { class: "required" }, "required") : null,
    facts.deprecated === true ? chip("deprecated", "warn") : null,
  ];
  const hasValue = value !== undefined;
  if (control.isGroup) {
    const element = el("fieldset", {}, el("legend", {}, title), hint, control.element);
    return { hasValue, element, read: control.read };
  }
  const fault = el("p", { class: "fault", id: `${id}-fault`, hidden: true });
  control.input.setAttribute("aria-describedby", `${id}-fault${hint ? ` ${id}-hint` : ""}`);
  if (required && !control.isGroupOfInputs) control.input.setAttribute("aria-required", "true");
  const label = control.isGroupOfInputs
    ? el("div", { class: "label" }, title) : el("label", { for: id }, title);
  return { hasValue, element: el("div", { class: "field" }, label, control.element, fault, hint),
    read: () => readChecked(control, fault) };
}

/** Return the first paragraph of a description, and all of it to be opened. */
function fieldHint(description, id) {
  const [first, ...rest] = description.trim().split(/\n\s*\n/);
  const line = markdownLine(first, "p", "hint clamped");
  line.id = `${id}-hint`;
  if (!rest.length && first.length < LONG_STRING) return line;
  return el("div", {}, line, el("details", { class: "quiet" },
    el("summary", {}, "Whole description"), markdownBlock(description, "prose small")));
}

/** Return the value of a control; a text that is not one is reported below the field. */
function readChecked(control, fault) {
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

function createControl(facts, root, value, options) {
  const schema = withoutNull(withoutFile(facts, root, value), root);
  const isOnlyOne = Array.isArray(schema.type) && schema.type.length === 1;
  const kind = isOnlyOne ? schema.type[0] : schema.type;
  const plain = { ...schema, type: kind };
  if (Array.isArray(schema.enum) || Object.hasOwn(schema, "const")) {
    return selectControl(schema.enum || [schema.const], value, options);
  }
  if (kind === "boolean") return booleanControl(value, options);
  if (kind === "integer" || kind === "number") return numberControl(plain, value, options);
  if (kind === "string") return stringControl(plain, value, options);
  if (kind === "object" && options.depth < DEEPEST_FORM && hasOnlyProperties(schema)) {
    return groupControl(schema, root, value, options);
  }
  if (kind === "array" && options.depth < DEEPEST_FORM && isObject(schema.items)) {
    return arrayControl(schema.items, root, value, options);
  }
  return isScalar(schema, root) ? mixedControl(value, options)
    : jsonControl(value, { ...options, schema, root });
}

function hasOnlyProperties(schema) {
  return isObject(schema.properties) && schemaParts(schema).every((part) =>
    part.isProperty || part.name === SUBSCHEMAS.additionalProperties);
}

/** Return whether a schema takes strings, and else only what is neither object nor array. */
function isScalar(schema, root) {
  const kinds = typeNames(schema, root);
  return kinds.includes("string")
    && kinds.every((kind) => ["string", "integer", "number", "boolean", "null"].includes(kind));
}

/** Return the only other form of a value that may be a file, unless it is a file. */
function withoutFile(facts, root, value) {
  const branches = Array.isArray(facts.anyOf) && !isObject(value) ? facts.anyOf : [];
  const plain = branches.filter((part) => {
    const { schema } = followReferences(part, root);
    const properties = isObject(schema) ? schema.properties : null;
    return !(isObject(properties) && isObject(properties.base64) && isObject(properties.text));
  });
  if (plain.length !== 1 || branches.length < 2) return facts;
  const { anyOf: _, ...beside } = facts;
  return { ...beside, ...followReferences(plain[0], root).schema };
}

/** Return the only other form of a value that may be null, else the schema. */
function withoutNull(facts, root) {
  if (Array.isArray(facts.type) && facts.type.length === 2 && facts.type.includes("null")) {
    return { ...facts, type: facts.type.find((kind) => kind !== "null") };
  }
  const branches = facts.anyOf || facts.oneOf;
  const plain = Array.isArray(branches) ? branches.filter((part) => part.type !== "null") : [];
  const isNullable = plain.length === 1 && branches.length === 2;
  return isNullable ? followReferences(plain[0], root).schema : facts;
}

/** Return a control for an object; an optional one is left out while its fields are empty. */
function groupControl(schema, root, value, { depth, required }) {
  const inner = objectControl(schema, root, value, depth + 1);
  return { isGroup: true, element: inner.element, read() {
    const values = inner.read();
    return required || Object.keys(values).length ? values : undefined;
  } };
}

/** Return a control for an array: an item for each click on a button. */
function arrayControl(items, root, value, { depth, required, label }) {
  const rows = [];
  const list = el("div", { class: "items" });
  const add = el("button", { type: "button", class: "small", "aria-label": `${label}: add an item`,
    click: () => addItem(undefined, true) }, "+ Add an item");

  function addItem(item, isFocused) {
    const field = labelledField(items, root, {
      name: `item ${rows.length + 1}`, value: item, required: true, depth: depth + 1 });
    const row = { read: field.read };
    const remove = el("button", { type: "button", class: "icon", title: "Remove this item",
      "aria-label": `${label}: remove item`, click() {
        rows.splice(rows.indexOf(row), 1);
        element.remove();
        add.focus();
        add.dispatchEvent(new Event("input", { bubbles: true }));
      } }, "×");
    const element = el("div", { class: "item" }, field.element, remove);
    rows.push(row);
    list.append(element);
    if (isFocused) element.querySelector("input, select, textarea, button").focus();
  }

  for (const item of Array.isArray(value) ? value : []) addItem(item, false);
  return { isGroup: true, element: el("div", {}, list, add), read() {
    const values = rows.map(({ read }) => read()).filter((item) => item !== undefined);
    return required || values.length ? values : undefined;
  } };
}

/** Return the arguments' form, which can be edited as JSON as well. */
function argumentsForm(schema, initial, onMode) {
  const place = el("div", {});
  const fault = el("p", { class: "fault", role: "alert" });
  const isEmpty = !Object.keys(schema.properties || {}).length;
  let control = null;
  let mode = "form";

  function show(values) {
    if (mode === "json") {
      const editor = jsonControl(values, { id: "arguments", label: "Arguments as JSON", rows: 10 });
      control = { read: () => editor.read() || {} };
      fill(place, editor.element);
    } else {
      control = objectControl(schema, schema, values, 0);
      fill(place, isEmpty ? hintLine("This tool takes no arguments.") : control.element);
    }
    onMode(mode);
  }

  function changeMode(next) {
    fault.textContent = "";
    try {
      const values = control.read();
      mode = next;
      show(values);
    } catch (error) {
      fault.textContent = error.message;
      chooser.querySelector(`[value="${mode}"]`).checked = true;
    }
  }

  const chooser = segmentedControl("Edit the arguments as", [["form", "Form"], ["json", "JSON"]],
    mode, changeMode);
  show(initial);
  const head = el("div", { class: "panel-head" }, el("h4", {}, "Arguments"),
    isEmpty ? null : chooser);
  return { element: el("div", {}, head, place, fault), read: () => readForm(control, fault) };
}

/** Return the arguments, or null while a field has a fault. */
function readForm(control, fault) {
  try {
    const values = control.read();
    if (!isObject(values)) throw new FieldError("The arguments must be an object.");
    fault.textContent = "";
    return values;
  } catch (error) {
    if (!(error instanceof FieldError)) throw error;
    fault.textContent = error.message;
    return null;
  }
}
