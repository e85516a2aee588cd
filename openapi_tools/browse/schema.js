// A JSON Schema as a tree. References are followed when a part is opened, so cycles do no harm.
"use strict";

const SCHEMA_FACTS = ["format", "default", "minimum", "maximum", "exclusiveMinimum",
  "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems",
  "uniqueItems", "minProperties", "maxProperties", "readOnly", "writeOnly", "contentEncoding",
  "contentMediaType"];
const BRANCHES = { anyOf: "any of", oneOf: "one of", allOf: "all of", prefixItems: "item" };
const SUBSCHEMAS = { not: "not", if: "if", then: "then", else: "else", items: "each item",
  additionalProperties: "other properties", contains: "contains", propertyNames: "names",
  unevaluatedProperties: "unevaluated properties", unevaluatedItems: "unevaluated items" };
const SCHEMA_MAPS = { patternProperties: "properties like", dependentSchemas: "with" };
const MOST_REFERENCES = 20;
const MOST_TYPES = 3; // that a label names
const MOST_VALUES = 24; // of an enum that are displayed at once

/** Return a schema without a reference at its root, and the names of the parts that it went by. */
function followReferences(schema, root) {
  const names = [];
  let node = schema;
  while (isObject(node) && typeof node.$ref === "string" && names.length < MOST_REFERENCES) {
    const name = definitionName(node.$ref);
    const { $ref: _, ...beside } = node;
    names.push(name);
    const target = root.$defs && Object.hasOwn(root.$defs, name) ? root.$defs[name] : {};
    node = isObject(target) ? { ...target, ...beside } : target;
  }
  return { schema: node, names };
}

function definitionName(reference) {
  const name = reference.replace(/^#\/\$defs\//, "").replaceAll("~1", "/").replaceAll("~0", "~");
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Return the kinds of value that a schema takes, in words. */
function describeType(schema, root, depth = 0) {
  const names = typeNames(schema, root, depth);
  const rest = names.length - MOST_TYPES;
  return rest > 1 ? `${names.slice(0, MOST_TYPES).join(", ")} or ${rest} other types`
    : names.join(" or ");
}

function typeNames(schema, root, depth = 0) {
  const { schema: node, names } = followReferences(schema, root);
  if (node === true || (isObject(node) && !Object.keys(node).length)) return ["any"];
  if (!isObject(node)) return ["nothing"];
  const name = node.title && names.length ? String(node.title) : names.at(-1);
  const kinds = [node.type || []].flat();
  if (kinds.length) return kinds.map((kind) => describeKind(kind, node, { root, name, depth }));
  const branches = [node.anyOf, node.oneOf].find((each) => Array.isArray(each) && depth < 2);
  if (branches) {
    return [...new Set(branches.flatMap((part) => typeNames(part, root, depth + 1)))];
  }
  if (name) return [name];
  if (node.enum || Object.hasOwn(node, "const")) return ["enum"];
  return [node.properties ? "object" : "any"];
}

function describeKind(kind, node, { root, name, depth }) {
  if (kind === "array" && node.items && depth < 3) {
    return `array of ${describeType(node.items, root, depth + 1)}`;
  }
  return kind === "object" && name ? `${name} (object)` : kind;
}

/** Return the parts of a schema: label, schema, whether required. */
function schemaParts(schema) {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const parts = Object.entries(isObject(schema.properties) ? schema.properties : {})
    .map(([name, part]) => ({ name, part, required: required.has(name), isProperty: true }));
  for (const [key, label] of Object.entries(BRANCHES)) {
    const branches = Array.isArray(schema[key]) ? schema[key] : [];
    branches.forEach((part, at) => parts.push({ name: `${label} ${at + 1}`, part }));
  }
  for (const [key, label] of Object.entries(SUBSCHEMAS)) {
    if (isObject(schema[key])) parts.push({ name: label, part: schema[key] });
  }
  for (const [key, label] of Object.entries(SCHEMA_MAPS)) {
    const entries = Object.entries(isObject(schema[key]) ? schema[key] : {});
    entries.forEach(([name, part]) => parts.push({ name: `${label} ${name}`, part }));
  }
  return parts;
}

/** Return the tree of a schema; `locations` says where the arguments at the top travel, by name. */
function schemaTree(schema, root, { locations = null, parents = [] } = {}) {
  const parts = schemaParts(schema);
  if (!parts.length) return hintLine("No properties are described.");
  return el("ul", { class: "tree" }, parts.map((part) => el("li", {},
    treeNode(part, root, { location: locations && locations.get(part.name), parents }))));
}

function treeNode({ name, part, required, isProperty }, root, { location, parents }) {
  const { schema, names } = followReferences(part, root);
  const facts = isObject(schema) ? schema : {};
  const isRecursive = names.some((each) => parents.includes(each));
  const head = [
    el("code", { class: isProperty ? "property" : "branch" }, breakableName(name)),
    el("span", { class: "type", dir: "auto" }, describeType(part, root)),
    required ? chip("required", "strong") : null,
    isRecursive ? chip("recursive") : null,
    facts.deprecated === true ? chip("deprecated", "warn") : null,
    location ? el("span", { class: "location" }, location) : null,
  ];
  const body = [
    typeof facts.description === "string" ? markdownBlock(facts.description, "prose small") : null,
    schemaFacts(facts),
  ];
  if (!isObject(schema) || !schemaParts(schema).length) {
    return el("div", { class: "leaf" }, el("div", { class: "node-head" }, head), body);
  }
  const details = el("details", {}, el("summary", { class: "node-head" }, head), body);
  details.addEventListener("toggle", () => {
    details.append(schemaTree(schema, root, { parents: [...parents, ...names] }));
  }, { once: true });
  return details;
}

function schemaFacts(schema) {
  const facts = SCHEMA_FACTS.filter((key) => Object.hasOwn(schema, key)).map((key) =>
    el("span", { class: "fact" }, `${key} `, el("code", {}, toJson(schema[key]))));
  const values = Array.isArray(schema.enum) ? schema.enum
    : Object.hasOwn(schema, "const") ? [schema.const] : [];
  if (values.length) facts.unshift(allowedValues(values));
  return facts.length ? el("div", { class: "schema-facts" }, facts) : null;
}

function allowedValues(values) {
  const codes = (some) => some.flatMap((value) => [el("code", {}, toJson(value)), " "]);
  const rest = values.slice(MOST_VALUES);
  return el("span", { class: "fact" }, values.length > 1 ? "one of " : "always ",
    codes(values.slice(0, MOST_VALUES)),
    rest.length ? el("details", { class: "inline" },
      el("summary", {}, `${formatNumber(rest.length)} more`), codes(rest)) : null);
}
