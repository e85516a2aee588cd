// One tool: what the document says, a form with its request and response, the model's view, facts.
"use strict";

const LONGEST_SUMMARY = 160; // characters

/** Return the view of a tool; `context` has the store, the index, the profile and the needs. */
function toolView(tool, context) {
  return [
    toolHead(tool),
    callSection(tool, context),
    modelSection(tool, context),
    needsSection(tool, context),
    factsSection(tool),
  ];
}

function toolHead(tool) {
  return el("header", { class: "tool-head" },
    el("p", { class: "eyebrow" }, tool.tags.map((tag) => el("span", { dir: "auto" }, tag))),
    el("h2", {}, el("code", {}, breakableName(tool.name))),
    el("p", { class: "endpoint" }, methodBadge(tool.method, tool.safety), pathLabel(tool.path),
      safetyChip(tool.safety), tool.idempotent && tool.safety !== "read-only"
        ? chip("idempotent") : null,
      tool.deprecated ? chip("deprecated", "warn") : null),
    descriptionView(tool));
}

/** Return the summary, and the document's own description, which has its links. */
function descriptionView(tool) {
  const { documented } = tool;
  const [first, ...rest] = tool.description.split("\n");
  const isDocumented = documented.summary || documented.description;
  const summary = isDocumented ? documented.summary : first;
  const body = isDocumented ? documented.description : rest.join("\n");
  return [
    summary ? summaryView(summary) : null,
    body.trim() && body.trim() !== summary.trim() ? foldedProse(body) : null,
  ];
}

/** Return a summary as the line that it should be; some documents have paragraphs there. */
function summaryView(summary) {
  const isLine = summary.length <= LONGEST_SUMMARY && !summary.includes("\n");
  return isLine ? markdownLine(summary, "p", "summary") : foldedProse(summary);
}

/** Return the form, the request that it makes, and in server mode the call. */
function callSection(tool, { store, index }) {
  const request = requestPanel(tool, store);
  const form = argumentsForm(tool.input_schema, tool.example, (mode) =>
    request.chooseTab(mode === "json" ? "Schema" : "curl"));
  const response = store.canExecute ? responsePanel(tool, store, index.mock) : null;
  const send = response ? el("button", { type: "submit", class: "main" },
    index.mock ? "Call the mock" : "Call") : null;
  const element = el("form", { class: "call", novalidate: true },
    el("div", { class: "arguments" }, form.element, send ? el("p", { class: "send" }, send,
      el("span", { class: "hint" }, sendHint(tool))) : null),
    el("div", { class: "exchange" }, request.element, response ? response.element : null));
  listenToForm(element, { tool, form, request, response, send });
  return section("Try it", { id: "try" }, element);
}

function sendHint(tool) {
  return tool.safety === "read-only" ? "Changes nothing." : "Asks before it is sent.";
}

function listenToForm(element, { tool, form, request, response, send }) {
  const update = debounce(() => {
    const values = form.read();
    if (values) request.show(values);
  });
  for (const kind of ["input", "change"]) {
    element.addEventListener(kind, (event) => {
      if (event.target.closest(".arguments")) update();
    });
  }
  element.addEventListener("click", (event) => {
    if (event.target.closest(".arguments button[type=button]")) update();
  });
  element.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) element.requestSubmit();
  });
  element.addEventListener("submit", async (event) => {
    event.preventDefault();
    const values = form.read();
    if (!values) {
      const invalid = element.querySelector("[aria-invalid]");
      if (invalid) invalid.focus();
    }
    if (!values || !response) return;
    send.disabled = true;
    await response.call(values);
    send.disabled = false;
    send.focus({ preventScroll: true });
  });
  request.show(tool.example);
}

function factsSection(tool) {
  const shape = Object.entries(tool.shape).filter(([, facts]) => Object.keys(facts).length)
    .map(([name, facts]) => [capitalize(name), el("code", {}, toJson(facts))]);
  const { answer_schema: schema } = tool;
  return section("The call", { id: "facts" },
    factList([
      ["Operation", tool.operation_id ? el("code", {}, tool.operation_id) : "no id"],
      ["Servers", tool.servers.join(", ") || "none"],
      ["Security", securityLabel(tool) || "none"],
      ...shape,
      ...tool.not_checked.map((note) => ["Not checked here", note]),
    ]),
    schema ? el("details", { class: "panel" },
      el("summary", {}, "Response: ", el("span", { class: "type", dir: "auto" },
        describeType(schema, schema))), schemaTree(schema, schema)) : null);
}
