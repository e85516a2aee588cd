// A tool as a model gets it: the definition as it is sent, what each part of it costs, and what is
// shorter than in the document, for one of the APIs (profiles).
"use strict";

const MOST_PARTS = 8; // arguments whose costs are displayed
const MOST_CHANGES = 40;

/** Return the section about the definition; it is made again for another profile. */
function modelSection(tool, { profile, index, chooseProfile }) {
  const definition = tool.definitions[profile];
  return section("As the model sees it",
    { id: "model", lead: "The definition as each API gets it, and its cost in every request." },
    profileBars(tool, profile, chooseProfile),
    definition.reason
      ? faultMessage(`${profile} gets no definition of this tool: ${definition.reason}`)
      : definitionView(tool, profile, definition, index));
}

/** Return a button with a bar for each profile: its tokens, and whether anything is left out. */
function profileBars(tool, profile, chooseProfile) {
  const entries = Object.entries(tool.definitions);
  const most = Math.max(1, ...entries.map(([, { tokens }]) => tokens || 0));
  return el("div", { class: "profiles", role: "group", "aria-label": "API of the definition" },
    entries.map(([name, definition]) => el("button", { type: "button",
      "aria-pressed": String(name === profile), click: () => chooseProfile(name) },
    el("span", { class: "profile-name" }, breakableName(name)),
    meter((definition.tokens || 0) / most, "model"),
    el("span", { class: "profile-cost" }, definition.reason ? "no definition"
      : `${formatNumber(definition.tokens)} tokens`))));
}

function definitionView(tool, profile, definition, index) {
  const inner = definition.value.function || definition.value;
  const key = Object.keys(inner).find((name) => isObject(inner[name]) && inner[name].type);
  const schema = inner[key] || {};
  const changes = compareSchemas(tool, inner.description || "", schema);
  return el("div", { class: "definition" },
    el("div", { class: "definition-text" },
      el("h4", {}, "The definition"), jsonBlock("Definition", definition.value)),
    el("div", { class: "definition-facts" },
      costFacts(definition, index),
      partBars(definition, inner, schema),
      changesList(definition, changes),
      el("details", { class: "quiet" }, el("summary", {}, "Arguments as a tree"),
        schemaTree(schema, schema, { locations: argumentLocations(tool) }))));
}

function costFacts(definition, index) {
  const { tokens, bytes, full_tokens: full, full_bytes: fullBytes } = definition;
  const saved = full > tokens ? 1 - tokens / full : 0;
  return el("div", {},
    el("h4", {}, "Cost"),
    el("p", { class: "big-number" }, el("span", { class: "model-text" }, formatNumber(tokens)),
      el("small", {}, ` tokens, ${formatNumber(bytes)} bytes`)),
    hintLine(saved > 0.005
      ? `${formatPercent(saved)} fewer tokens than the complete definition (${formatNumber(full)}, `
        + `${formatNumber(fullBytes)} bytes). Tokens are ${index.tokens}.`
      : `Nothing had to be shortened. Tokens are ${index.tokens}.`));
}

/** Return where the tokens go: the name with the frame, the description, each argument. */
function partBars(definition, inner, schema) {
  const size = (value) => new TextEncoder().encode(toJson(value)).length;
  const properties = isObject(schema.properties) ? schema.properties : {};
  const parts = Object.entries(properties)
    .map(([name, part]) => ({ name, bytes: size(part) + size(name) + 2, isArgument: true }));
  if (inner.description) parts.push({ name: "description", bytes: size(inner.description) });
  if (isObject(schema.$defs)) parts.push({ name: "shared parts", bytes: size(schema.$defs) });
  parts.sort((one, other) => other.bytes - one.bytes);
  const displayed = parts.slice(0, MOST_PARTS);
  const others = parts.slice(MOST_PARTS);
  if (others.length) {
    displayed.push({ name: countOf(others.length, "smaller part"), bytes: sumBytes(others) });
  }
  const total = Math.max(size(definition.value), 1);
  const frame = { name: "name and keys", bytes: Math.max(0, total - sumBytes(parts)) };
  return el("div", {}, el("h4", {}, "Where the tokens go"),
    el("ul", { class: "bars" }, [...displayed, frame].map((part) => el("li", {},
      el(part.isArgument ? "code" : "span", { class: "bar-name", dir: "auto" }, part.name),
      meter(part.bytes / total, "model"),
      el("span", { class: "bar-value" }, formatPercent(part.bytes / total))))));
}

function sumBytes(parts) {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Return the changes with the places that share each of them. */
function groupChanges(changes) {
  const groups = new Map();
  for (const { place, text } of changes) {
    if (!groups.has(text)) groups.set(text, { places: [], text });
    groups.get(text).places.push(place);
  }
  return [...groups.values()];
}

/** Return what the definition says less than the document, and why. */
function changesList(definition, changes) {
  const notes = definition.notes.map((note) => el("li", { class: "note", dir: "auto" }, note));
  const groups = groupChanges(changes);
  const rest = groups.length - MOST_CHANGES;
  const items = groups.slice(0, MOST_CHANGES).map(({ places, text }) => el("li", {},
    places.flatMap((place, at) => [at ? ", " : null,
      el("code", { dir: "auto" }, breakableName(place))]), " ", text));
  return el("div", {}, el("h4", {}, "What was changed"),
    notes.length || items.length
      ? el("ul", { class: "shortened", tabindex: "0", "aria-label": "What was changed" },
        notes, items, rest > 0 ? el("li", {}, `and ${countOf(rest, "more change")}`) : null)
      : hintLine("Nothing: the definition has all of the input schema."));
}
