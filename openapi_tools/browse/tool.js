// One tool: its words, a form with the request it makes, its schema, and facts about calls.
"use strict";

const PREVIEW_AFTER = 150; // milliseconds without a keystroke

function toolView(tool, profile, store, facts) {
  return [
    el("h2", {}, el("code", {}, breakable(tool.name))),
    el("p", { class: "chips" }, methodChip(tool.method), el("code", { class: "path" }, tool.path),
      chip(tool.safety, { "read-only": "good", destructive: "bad" }[tool.safety] || "warn"),
      tool.idempotent ? chip("idempotent") : null,
      tool.deprecated ? chip("deprecated", "warn") : null,
      tool.tags.map((tag) => chip(tag, "tag"))),
    el("p", { class: "words" }, tool.description),
    trySection(tool, store, facts),
    modelSection(tool, profile),
    factsSection(tool),
  ];
}

/** Return the form, the request that it makes, and in server mode the call. */
function trySection(tool, store, facts) {
  const form = argumentsForm(tool.input_schema, tool.example);
  const preview = previewPanel(tool, store);
  const result = el("div", { id: "result", role: "status" });
  const send = store.canExecute
    ? el("button", { type: "submit", class: "main" }, facts.mock ? "Call the mock" : "Call")
    : null;
  const element = el("form", { class: "try", novalidate: true },
    el("div", {}, form.element, el("p", { class: "send" }, send)), preview.element);

  const update = later(() => {
    const values = form.read();
    if (values) preview.show(values);
  });
  for (const kind of ["input", "change"]) element.addEventListener(kind, update);
  element.addEventListener("click", (event) => { if (event.target.type === "button") update(); });
  element.addEventListener("submit", async (event) => {
    event.preventDefault();
    const values = form.read();
    if (values && send) await execute(tool, values, store, result, send);
  });
  preview.show(tool.example);
  return section("Try it", element, result);
}

/** Return a function that runs another one when it has not been called for a moment. */
function later(act) {
  let waiting = 0;
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(act, PREVIEW_AFTER);
  };
}

/** Return the panel with the request. Only the package builds requests: see `told`. */
function previewPanel(tool, store) {
  const blocks = {
    curl: codeBlock("The request for curl", ""),
    httpx: codeBlock("The request for httpx", ""),
    HTTP: codeBlock("The request as HTTP", ""),
    "Tool call": codeBlock("The tool call", ""),
    Command: codeBlock("The command", ""),
  };
  const note = el("p", { class: "hint", role: "status" });
  const panels = tabs("Request", blocks);
  let turn = 0;

  async function show(values) {
    const mine = turn += 1;
    setCode(blocks["Tool call"], json({ name: tool.name, arguments: values }, 2));
    setCode(blocks.Command, commandOf(tool, values));
    let found = tool.preview;
    if (store.preview) {
      try {
        found = await store.preview(tool.name, values);
      } catch (error) {
        found = { error: error.message };
      }
    }
    if (mine === turn) tell(found, values);
  }

  /** A file has the requests of the example arguments only, and says so about other ones. */
  function tell(found, values) {
    const isOther = !store.preview && json(values) !== json(tool.example);
    panels.classList.toggle("stale", Boolean(found.error) || isOther);
    note.textContent = found.error || (isOther
      ? "curl, httpx and HTTP show the request of the example arguments. For the request of "
        + "yours, run the command, or open the page with `openapi-tools browse`."
      : "");
    note.classList.toggle("fault", Boolean(found.error));
    if (found.error) return;
    setCode(blocks.curl, found.curl);
    setCode(blocks.httpx, found.httpx);
    setCode(blocks.HTTP, found.http);
  }

  return { element: el("div", { class: "preview" }, panels, note), show };
}

function setCode(block, text) {
  block.firstChild.textContent = text;
}

/** Return the command that prints the exact request of arguments. */
function commandOf(tool, values) {
  const quoted = json(values).replaceAll("'", "'\\''");
  return `openapi-tools call SPEC ${tool.name} \\\n  --json '${quoted}' --dry-run`;
}

async function execute(tool, values, store, result, send) {
  send.disabled = true;
  fill(result, el("p", { class: "hint" }, "Calling …"));
  try {
    let answer = await store.execute(tool.name, values, false);
    if (answer.needs_approval) {
      if (!await approved(tool, answer.preview)) {
        fill(result, el("p", { class: "hint" }, "Not called."));
        return;
      }
      answer = await store.execute(tool.name, values, true);
    }
    fill(result, resultView(answer));
  } catch (error) {
    fill(result, el("p", { class: "fault" }, error.message));
  } finally {
    send.disabled = false;
    send.focus();
  }
}

/** Ask for approval of a call, with its exact request. */
function approved(tool, preview) {
  const dialog = byId("approval");
  byId("approval-words").textContent = 
    `${tool.name} may change${tool.safety === "destructive" ? " or delete" : ""} something.`;
  byId("approval-request").textContent = preview.http || preview.error;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

function resultView(answer) {
  const { status, media_type: kind, elapsed } = answer.metadata;
  const facts = [
    status ? `status ${status}` : null, kind || null,
    elapsed === undefined ? null : `${Math.round(elapsed * 1000)} ms`,
  ].filter(Boolean).join(", ");
  return [
    el("p", {}, chip(answer.success ? "success" : answer.error.type, answer.success ? "good" : "bad"),
      " ", facts),
    answer.problems.map((problem) => el("p", { class: "fault" }, problem)),
    answer.contents.map(contentView),
    answer.note ? el("p", { class: "hint" }, answer.note) : null,
  ];
}

function contentView(content) {
  if (content.type === "image") {
    return el("img", { alt: "The answer, an image",
      src: `data:${content.media_type};base64,${content.data}` });
  }
  return codeBlock("The answer", indented(content.text));
}

function indented(text) {
  try {
    return json(JSON.parse(text), 2);
  } catch {
    return text;
  }
}

/** Return the tool as the model of a profile gets it. */
function modelSection(tool, profile) {
  const definition = tool.definitions[profile];
  const made = section("As the model sees it", definition.reason
    ? el("p", { class: "fault" },
      `${profile} gets no definition of this tool: ${definition.reason}`)
    : definitionView(tool, profile, definition));
  made.id = "model";
  return made;
}

function definitionView(tool, profile, definition) {
  const inner = definition.value.function || definition.value;
  const key = Object.keys(inner).find((name) => isObject(inner[name]) && inner[name].type);
  const schema = inner[key] || {};
  return [
    el("p", {}, chip(profile), ` ${inBytes([definition.bytes, definition.tokens])}`),
    inner.description === tool.description ? null
      : el("p", { class: "words" }, inner.description),
    definition.notes.map((note) => el("p", { class: "hint" }, note)),
    schemaTree(schema, schema, placesOf(tool)),
    el("details", {}, el("summary", {}, "The definition as JSON"),
      codeBlock("The definition", json(definition.value, 2))),
    json(schema) === json(tool.input_schema) ? null
      : el("details", {}, el("summary", {}, "The whole input schema"),
        schemaTree(tool.input_schema, tool.input_schema, placesOf(tool))),
  ];
}

/** Return how each argument travels, in words. */
function placesOf(tool) {
  const found = new Map();
  for (const place of tool.arguments) {
    const known = found.get(place.argument);
    const words = placeInWords(place);
    found.set(place.argument, known ? `${known}; ${words}` : words);
  }
  return found;
}

function placeInWords(place) {
  const how = place.media_type || `${place.style}${place.explode ? ", explode" : ""}`;
  const name = place.name && place.name !== place.argument ? ` ${place.name}` : "";
  if (place.in !== "body") return `${place.in}${name} (${how})`;
  const part = place.header ? `, header ${place.header} of its part` : "";
  return `${place.name ? `body member${name}` : "the whole body"}${part} (${how})`;
}

function factsSection(tool) {
  const security = tool.security.map((alternative) => Object.entries(alternative)
    .map(([name, scopes]) => `${name} (${tool.security_schemes[name]}`
      + `${scopes.length ? `: ${scopes.join(", ")}` : ""})`).join(" and ") || "none");
  const rows = [
    ["Operation", tool.operation_id || "no id"],
    ["Servers", tool.servers.join(", ") || "none"],
    ["Security", security.join(", or ") || "none"],
    ...Object.entries(tool.shape).filter(([, facts]) => Object.keys(facts).length)
      .map(([name, facts]) => [name, json(facts)]),
    ...tool.not_checked.map((note) => ["Not checked here", note]),
  ];
  const answers = tool.answer_schema;
  return section("The call",
    el("dl", {}, rows.map(([name, text]) => el("div", {}, el("dt", {}, name), el("dd", {}, text)))),
    answers ? el("details", {}, el("summary", {}, `The answer: ${typeOf(answers, answers)}`),
      schemaTree(answers, answers, null)) : null);
}
