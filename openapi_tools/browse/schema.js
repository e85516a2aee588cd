// A JSON Schema as a tree. References are followed when a part is opened, so cycles do no harm.
"use strict";

const FACTS = ["format", "default", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
  "multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems",
  "minProperties", "maxProperties", "readOnly", "writeOnly", "contentEncoding",
  "contentMediaType"];
const BRANCHES = { anyOf: "any of", oneOf: "one of", allOf: "all of", prefixItems: "item" };
const SINGLE = { not: "not", if: "if", then: "then", else: "else", items: "each item",
  additionalProperties: "other members", contains: "contains", propertyNames: "names",
  unevaluatedProperties: "unevaluated members", unevaluatedItems: "unevaluated items" };
const MAPS = { patternProperties: "members like", dependentSchemas: "with" };

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** Return a schema without a reference at its root, and the names of the parts that it went by. */
function resolved(schema, root) {
  const names = [];
  let found = schema;
  while (isObject(found) && typeof found.$ref === "string" && names.length < 20) {
    const name = decodeURIComponent(found.$ref.replace(/^#\/\$defs\//, ""))
      .replaceAll("~1", "/").replaceAll("~0", "~");
    const { $ref: _, ...beside } = found;
    names.push(name);
    const there = root.$defs && Object.hasOwn(root.$defs, name) ? root.$defs[name] : {};
    found = isObject(there) ? { ...there, ...beside } : there;
  }
  return { schema: found, names };
}

/** Return the kinds of value that a schema takes, in words. */
function typeOf(schema, root, depth = 0) {
  const { schema: found, names } = resolved(schema, root);
  if (found === true || (isObject(found) && !Object.keys(found).length)) return "any";
  if (!isObject(found)) return "nothing";
  const name = found.title && names.length ? found.title : names.at(-1);
  const kinds = [found.type || []].flat();
  if (kinds.length) {
    return kinds.map((kind) => {
      if (kind === "array" && found.items && depth < 3) {
        return `array of ${typeOf(found.items, root, depth + 1)}`;
      }
      return kind === "object" && name ? `${name} (object)` : kind;
    }).join(" or ");
  }
  for (const key of ["anyOf", "oneOf"]) {
    if (Array.isArray(found[key]) && depth < 2) {
      return [...new Set(found[key].map((part) => typeOf(part, root, depth + 1)))].join(" or ");
    }
  }
  return name || (found.enum || "const" in found ? "enum" : found.properties ? "object" : "any");
}

/** Return the parts of a schema: label, schema, whether required. */
function partsOf(schema) {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const found = Object.entries(isObject(schema.properties) ? schema.properties : {})
    .map(([name, part]) => ({ name, part, required: required.has(name), isMember: true }));
  for (const [key, label] of Object.entries(BRANCHES)) {
    const branches = Array.isArray(schema[key]) ? schema[key] : [];
    branches.forEach((part, at) => found.push({ name: `${label} ${at + 1}`, part }));
  }
  for (const [key, label] of Object.entries(SINGLE)) {
    if (isObject(schema[key])) found.push({ name: label, part: schema[key] });
  }
  for (const [key, label] of Object.entries(MAPS)) {
    const parts = Object.entries(isObject(schema[key]) ? schema[key] : {});
    parts.forEach(([name, part]) => found.push({ name: `${label} ${name}`, part }));
  }
  return found;
}

/** Return the tree of a schema; `places` says how the arguments at the top travel, by name. */
function schemaTree(schema, root, places, above) {
  const parts = partsOf(schema);
  if (!parts.length) return el("p", { class: "hint" }, "no members");
  return el("ul", { class: "tree" }, parts.map((part) => el("li", {},
    treeNode(part, root, places && places.get(part.name), above || []))));
}

function treeNode({ name, part, required, isMember }, root, place, above) {
  const { schema, names } = resolved(part, root);
  const facts = isObject(schema) ? schema : {};
  const again = names.find((one) => above.includes(one));
  const head = [
    el("code", { class: isMember ? "member" : "branch" }, name), " ",
    el("span", { class: "type" }, typeOf(part, root)),
    " ", required ? chip("required", "strong") : null,
    again ? chip("recursive") : null,
    facts.deprecated === true ? chip("deprecated", "warn") : null,
    place ? el("span", { class: "place" }, place) : null,
  ];
  const told = [
    typeof facts.description === "string" ? el("p", {}, facts.description) : null,
    factsOf(facts),
  ];
  if (!isObject(schema) || !partsOf(schema).length) {
    return el("div", { class: "leaf" }, head, told);
  }
  const details = el("details", {}, el("summary", {}, head), told);
  details.addEventListener("toggle", () => {
    if (details.open) details.append(schemaTree(schema, root, null, [...above, ...names]));
  }, { once: true });
  return details;
}

function factsOf(schema) {
  const found = FACTS.filter((key) => Object.hasOwn(schema, key))
    .map((key) => el("span", { class: "fact" }, `${key} `, el("code", {}, json(schema[key]))));
  const values = Array.isArray(schema.enum) ? schema.enum
    : Object.hasOwn(schema, "const") ? [schema.const] : [];
  if (values.length) {
    found.unshift(el("span", { class: "fact" }, values.length > 1 ? "one of " : "always ",
      values.flatMap((value) => [el("code", {}, json(value)), " "])));
  }
  return found.length ? el("p", { class: "facts" }, found) : null;
}
