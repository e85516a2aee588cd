// Calls from the page, the approval of those that change something, and their responses.
"use strict";

const STATUS_KINDS = { 2: "good", 3: "warn", 4: "bad", 5: "bad" };

/** Return the panel of the response; `call` makes a call with the form's arguments. */
function responsePanel(tool, store, isMock) {
  const body = el("div", { role: "status", class: "response-body" },
    emptyState("No call yet.", isMock ? "The document itself responds, without a network."
      : "A call uses the server and the credentials of the command."));
  const element = el("div", { class: "response", id: "response" },
    el("div", { class: "panel-head" }, el("h4", {}, "Response")), body);

  async function call(values) {
    fill(body, el("p", { class: "loading" }, "Calling …"));
    try {
      fill(body, await makeCall(tool, store, values) || hintLine("Not called."));
    } catch (error) {
      fill(body, markdownLine(error.message, "p", "fault"));
    }
  }

  return { element, call };
}

/** Return the view of a call's result; null if a person does not approve the call. */
async function makeCall(tool, store, values) {
  let result = await store.execute(tool.name, values, false);
  if (result.needs_approval) {
    if (!await askForApproval(tool, result.preview)) return null;
    result = await store.execute(tool.name, values, true);
  }
  return resultView(result);
}

/** Ask for approval of a call, with its exact request. */
function askForApproval(tool, preview) {
  const dialog = byId("approval");
  byId("approval-words").textContent = tool.safety === "destructive"
    ? `${tool.name} may change or delete something.` : `${tool.name} may create something.`;
  byId("approval-request").textContent = preview.http || preview.error;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

function resultView(result) {
  const { metadata } = result;
  const problems = [...result.problems, ...(metadata.response_problems || [])];
  return [
    responseSummary(result),
    problems.map((problem) => el("p", { class: "fault" }, problem)),
    contentTabs(result),
    result.note ? hintLine(result.note) : null,
    (metadata.notes || []).map((note) => hintLine(note)),
  ];
}

/** Return the line of status, time, size and tokens. */
function responseSummary(result) {
  const { status, elapsed, media_type: mediaType, attempts } = result.metadata;
  const kind = status ? STATUS_KINDS[Math.floor(status / 100)] || "" : "bad";
  const facts = [
    ["Time", elapsed === undefined ? null : formatTime(elapsed)],
    ["Size", formatBytes(result.bytes)],
    ["Tokens", el("span", { class: "model-text" }, formatNumber(result.tokens))],
    ["Type", mediaType || null],
    ["Attempts", attempts > 1 ? String(attempts) : null],
  ];
  return el("div", { class: "response-line" },
    chip(status ? `${status}` : "not sent", `status ${kind}`),
    el("strong", { class: result.success ? "good-text" : "bad-text" },
      result.success ? "success" : result.error.type),
    factList(facts));
}

function formatTime(seconds) {
  const milliseconds = seconds * 1000;
  if (milliseconds < 1) return "<1 ms";
  return seconds < 10 ? `${Math.round(milliseconds)} ms` : `${seconds.toFixed(1)} s`;
}

/** Return the result as a person reads it, as the model reads it, and its headers. */
function contentTabs(result) {
  const headers = Object.entries(result.metadata.headers || {});
  const asText = result.contents.map((content) =>
    (content.type === "image" ? `[image: ${content.media_type}]` : content.text)).join("\n");
  // The note is for the model: it is the last content, and no part of the response.
  const parts = result.contents.filter(({ text }) => !result.note || text !== result.note);
  const views = { Body: parts.map(contentView),
    "As the model reads it": codeBlock("Result for the model", asText).element };
  if (headers.length) {
    views[`Headers (${headers.length})`] = dataTable("Headers of interest", ["Header", "Value"],
      headers.map(([name, value]) => [el("code", {}, name), value]));
  }
  return tabList("Response", views).element;
}

function contentView(content) {
  if (content.type === "image") {
    return el("img", { alt: "The response, an image",
      src: `data:${content.media_type};base64,${content.data}` });
  }
  const value = parseOrText(content.text);
  const isJson = typeof value === "object" && value !== null;
  return isJson ? jsonBlock("Response", value) : codeBlock("Response", content.text).element;
}
