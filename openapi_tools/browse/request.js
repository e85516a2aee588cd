// The request of the form's arguments: as code, as HTTP, as the model's tool call, as a command.
"use strict";

const PREVIEW_AFTER = 150; // milliseconds without a keystroke
const TARGETS = [["real", "Real server"], ["mock", "Mock"]];

/** Return a function that runs another one when it has not been called for a moment. */
function debounce(act) {
  let waiting = 0;
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(act, PREVIEW_AFTER);
  };
}

/** Return the panel with the request. Only the package builds requests, so a file has one. */
function requestPanel(tool, store) {
  const blocks = {
    curl: codeBlock("Request for curl"),
    httpx: codeBlock("Request for httpx"),
    HTTP: codeBlock("Request as HTTP"),
    "Tool call": codeBlock("Tool call", "", { isJson: true }),
    Command: codeBlock("Command"),
  };
  const schema = el("div", { class: "schema-beside" }, schemaTree(tool.input_schema,
    tool.input_schema, { locations: argumentLocations(tool) }));
  const panels = Object.fromEntries(Object.entries(blocks).map(([name, { element }]) =>
    [name, element]));
  const tabs = tabList("Request", { ...panels, Schema: schema });
  const note = el("div", { class: "request-note", role: "status" });
  let target = "real";
  let request = tool.preview;
  let latest = 0;

  async function show(values) {
    const number = latest += 1;
    blocks["Tool call"].show(toJson({ name: tool.name, arguments: values }, 2));
    blocks.Command.show(commandLine(tool, values));
    const response = store.preview ? await previewOrFault(values) : tool.preview;
    if (number !== latest) return; // a later one is on its way
    request = response;
    draw(values);
  }

  async function previewOrFault(values) {
    try {
      return await store.preview(tool.name, values);
    } catch (error) {
      return { error: error.message };
    }
  }

  function draw(values) {
    const isOther = !store.preview && toJson(values) !== toJson(tool.example);
    tabs.element.classList.toggle("stale", Boolean(request.error) || isOther);
    fill(note, requestNotes(tool, request, isOther));
    if (request.error) return;
    const chosen = target === "mock" && request.mock ? request.mock : request;
    blocks.curl.show(chosen.curl);
    blocks.httpx.show(chosen.httpx);
    blocks.HTTP.show(chosen.http);
  }

  const targets = tool.preview.mock
    ? segmentedControl("Server in the request", TARGETS, target, (value) => {
      target = value;
      draw(null);
    }) : null;
  const head = el("div", { class: "panel-head" }, el("h4", {}, "Request"), targets);
  return { element: el("div", { class: "request" }, head, note, tabs.element), show,
    chooseTab: tabs.choose };
}

function requestNotes(tool, request, isOther) {
  if (request.error) return el("p", { class: "fault" }, request.error);
  if (isOther) {
    return hintLine("curl, httpx and HTTP show the request of the example arguments. For yours, "
      + "run the command, or open the page with ", el("code", {}, "openapi-tools browse"), ".");
  }
  return request.mock && tool.security.length
    ? hintLine("The mock needs no credentials. The real server needs ", securityLabel(tool), ".")
    : null;
}

/** Return what a tool's security requires, in words. */
function securityLabel(tool) {
  const alternatives = tool.security.map((schemes) => Object.entries(schemes)
    .map(([name, scopes]) => `${name} (${tool.security_schemes[name]}`
      + `${scopes.length ? `: ${scopes.join(", ")}` : ""})`).join(" and ") || "none");
  return alternatives.join(", or ");
}

/** Return the command that prints the exact request of arguments. */
function commandLine(tool, values) {
  const quoted = toJson(values).replaceAll("'", "'\\''");
  return `openapi-tools call SPEC ${tool.name} \\\n  --json '${quoted}' --dry-run`;
}

/** Return how each argument travels, in words. */
function argumentLocations(tool) {
  const locations = new Map();
  for (const place of tool.arguments) {
    const before = locations.get(place.argument);
    const words = describeLocation(place);
    locations.set(place.argument, before ? `${before}; ${words}` : words);
  }
  return locations;
}

function describeLocation(place) {
  const how = place.media_type || `${place.style}${place.explode ? ", explode" : ""}`;
  const name = place.name && place.name !== place.argument ? ` ${place.name}` : "";
  if (place.in !== "body") return `${place.in}${name} (${how})`;
  const part = place.header ? `, header ${place.header} of its part` : "";
  return `${place.name ? `body property${name}` : "the whole body"}${part} (${how})`;
}
