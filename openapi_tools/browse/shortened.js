// What a definition for a model has less than the tool's own description and input schema.
"use strict";

const DEEPEST_COMPARED = 6;
const MOST_COMPARED = 2000; // parts of a schema; recursive ones would have no end
const COMPARED_KEYS = [...SCHEMA_FACTS, "enum", "const", "examples", "additionalProperties"];

/** Return the places where a definition differs: `place` in the arguments, `text` says how. */
function compareSchemas(tool, description, schema) {
  const changes = [];
  let remaining = MOST_COMPARED;
  const isSpent = () => (remaining -= 1) < 0;
  compareText({ place: "description" }, tool.description, description, changes);
  comparePart({ place: "", part: tool.input_schema, root: tool.input_schema },
    { part: schema, root: schema }, { changes, isSpent, depth: 0 });
  return mergeChanges(changes);
}

/** Return one change for each place. */
function mergeChanges(changes) {
  const texts = new Map();
  for (const { place, text } of changes) {
    texts.set(place, texts.has(place) ? `${texts.get(place)}; ${text}` : text);
  }
  return [...texts].map(([place, text]) => ({ place, text }));
}

/** Note how a description differs; `subject` names it where the place does not. */
function compareText({ place, subject = "" }, before, after, changes) {
  if (typeof before !== "string" || !before || before === after) return;
  const note = (text) => changes.push({ place, text: subject + text });
  if (!after) note(`left out (${countOf(before.length, "character")})`);
  else if (after.length >= before.length) note("reworded");
  else {
    note(`shortened from ${formatNumber(before.length)} to `
      + `${countOf(after.length, "character")}`);
  }
}

function comparePart(before, after, walk) {
  const { changes } = walk;
  const one = mergedSchema(before.part, before.root);
  const other = mergedSchema(after.part, after.root);
  if (!one || !other || walk.depth > DEEPEST_COMPARED || walk.isSpent()) return;
  const deeper = { ...walk, depth: walk.depth + 1 };
  if (before.place) {
    compareText({ place: before.place, subject: "description " }, one.description,
      other.description, changes);
  }
  const missing = COMPARED_KEYS.filter((key) =>
    Object.hasOwn(one, key) && !Object.hasOwn(other, key));
  if (missing.length) {
    changes.push({ place: before.place || "arguments", text: `without ${missing.join(", ")}` });
  }
  compareProperties(before, after, one, other, deeper);
  if (isObject(one.items) && isObject(other.items)) {
    comparePart({ ...before, place: `${before.place}[]`, part: one.items },
      { ...after, part: other.items }, deeper);
  }
}

function compareProperties(before, after, one, other, deeper) {
  const properties = isObject(other.properties) ? other.properties : {};
  for (const [name, part] of Object.entries(isObject(one.properties) ? one.properties : {})) {
    const place = before.place ? `${before.place}.${name}` : name;
    if (Object.hasOwn(properties, name)) {
      comparePart({ ...before, place, part }, { ...after, part: properties[name] }, deeper);
    } else {
      deeper.changes.push({ place, text: "left out" });
    }
  }
}

/** Return a schema with what its only branch beside null has; null for what is no schema. */
function mergedSchema(part, root) {
  const { schema } = followReferences(part, root);
  if (!isObject(schema)) return null;
  const plain = withoutNull(schema, root);
  return isObject(plain) ? { ...schema, ...plain } : schema;
}
