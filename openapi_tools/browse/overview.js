// The document: what it is, what its tools cost a model, what was skipped and why.
"use strict";

const MOST_ROWS = 200;

function viewHead(title, lead) {
  return el("header", { class: "view-head" }, el("h2", { dir: "auto" }, title),
    lead ? el("p", { class: "lead" }, lead) : null);
}

/** Return cards with one number each, its name and a remark. */
function statCards(cards) {
  return el("dl", { class: "cards" }, cards.map(([name, value, remark, kind = ""]) =>
    el("div", { class: `card ${kind}` }, el("dt", {}, name),
      el("dd", {}, el("span", { class: "big" },
        typeof value === "number" ? formatNumber(value) : value),
      el("small", {}, remark)))));
}

/** Return the view of the document; `costs` is null while they are on their way. */
function overviewView(index, costs, { store, profile }) {
  return [
    el("header", { class: "view-head" },
      el("p", { class: "eyebrow" }, index.version ? `version ${index.version}` : "tools of"),
      el("h2", { dir: "auto" }, index.title),
      index.description ? foldedProse(index.description) : null),
    overviewCards(index, costs, profile),
    index.mock ? el("p", { class: "banner" }, el("strong", {}, "Mock. "),
      "Calls get responses from the document itself, without a network.") : null,
    index.tools.length ? fitSection(index, costs, profile) : noToolsState(),
    index.tools.length ? safetySection(index) : null,
    index.tools.length > 1 ? wordsSection(index, store) : null,
    index.skipped.length ? section("Skipped operations",
      { lead: "They are no tools; each with its reason and its place in the document." },
      skippedTable(index.skipped)) : null,
    index.warnings.length ? section("Remarks on the document", {},
      el("ul", { class: "remarks" }, index.warnings.slice(0, MOST_ROWS).map((warning) =>
        el("li", { dir: "auto" }, warning)))) : null,
    tagSection(index),
  ];
}

function noToolsState() {
  return emptyState("There are no tools.",
    "The document has no operation, or each of them was skipped or left out by a selection.");
}

function overviewCards(index, costs, profile) {
  const tokens = costs ? formatNumber(sumCosts(costs)[1]) : "…";
  const skipped = index.skipped.length;
  return statCards([
    ["Tools", index.tools.length, countOf(new Set(index.tools.flatMap(tagsOf)).size, "tag")],
    ["Tokens", tokens, `of all definitions for ${profile}`, "model"],
    ["Skipped", skipped, skipped ? "operations, see below" : "every operation is a tool"],
  ]);
}

/** Return whether a model can take all tools at once, and what to do otherwise. */
function fitSection(index, costs, profile) {
  const { tokens: mostTokens, tools: mostTools } = index.limits;
  const tokens = costs ? sumCosts(costs)[1] : 0;
  const isLarge = tokens > mostTokens || index.tools.length > mostTools;
  const row = (name, value, most) => el("li", {}, el("span", { class: "bar-name" }, name),
    meter(value / most, value > most ? "over" : "model"),
    el("span", { class: "bar-value" }, formatNumber(value), el("small", {},
      ` of ${formatNumber(most)}`)));
  return section("Can a model take all of them?", {},
    el("ul", { class: "bars limits" }, row("Tools", index.tools.length, mostTools),
      row(`Tokens for ${profile}`, tokens, mostTokens)),
    el("p", {}, isLarge
      ? ["Too many to offer at once. Offer three tools that find the others (",
        el("code", {}, "toolset.meta_tools()"), "), or one that runs programs (",
        el("code", {}, "toolset.code_tools()"), ")."]
      : "Yes: offer them as they are."));
}

function safetySection(index) {
  const counts = Object.keys(SAFETIES).map((safety) => ({ safety,
    count: index.tools.filter((tool) => tool.safety === safety).length }));
  const total = Math.max(1, index.tools.length);
  return section("What calls may do", { id: "what-calls-do" },
    el("div", { class: "split", "aria-hidden": "true" }, counts.filter(({ count }) => count)
      .map(({ safety, count }) => setVariables(el("span", { class: safety }),
        { "--share": count / total }))),
    el("ul", { class: "split-legend" }, counts.map(({ safety, count }) => el("li", {},
      safetyChip(safety), el("strong", {}, ` ${formatNumber(count)}`),
      hintLine(SAFETIES[safety])))));
}

/** Return the section about tools that a reader, or a search, takes for another. */
function wordsSection(index, store) {
  const findings = el("div", {}, el("p", { class: "loading" }, "Loading …"));
  store.words().then(
    (words) => fill(findings, wordFindings(index, words)),
    (error) => fill(findings, faultMessage(error.message)));
  return section("Can a reader tell them apart?", { id: "words" }, findings);
}

function wordFindings(index, { confusable, unreachable, unclear }) {
  const nameAt = (place) => index.tools[place].name;
  const cut = (rows) => rows.slice(0, MOST_ROWS);
  const list = (title, rows) => (rows.length ? [el("h4", {}, title),
    el("ul", { class: "remarks" }, cut(rows).map((row) => el("li", {}, row)))] : []);
  const isClear = !confusable.length && !unreachable.length && !unclear.length;
  return isClear ? hintLine("Yes: each has words of its own, and a search for them finds it.") : [
    list("These differ in words that no description has", confusable.map((places) =>
      toolLinks(places.map(nameAt)))),
    list("A search for their own words finds others first", unreachable.map((place) =>
      toolLinks([nameAt(place)]))),
    list("No word says what these arguments take", unclear.map(([place, names]) =>
      [toolLinks([nameAt(place)]), el("code", { dir: "auto" }, names.join(", "))])),
    hintLine(el("code", {}, "openapi-tools lint SPEC --fix FILE"), " writes words for them."),
  ];
}

function tagSection(index) {
  const described = Object.entries(index.tags).filter(([tag, text]) =>
    text && index.tools.some((tool) => tool.tags.includes(tag)));
  if (!described.length) return null;
  return section("Tags", {}, el("dl", { class: "facts" }, described.map(([tag, text]) =>
    el("div", {}, el("dt", {}, el("bdi", {}, tag)), el("dd", {}, markdownBlock(text))))));
}

function skippedTable(skipped) {
  const rest = skipped.length - MOST_ROWS;
  return [
    dataTable("Skipped operations", ["Operation", "Reason", "Place"],
      skipped.slice(0, MOST_ROWS).map((entry) => [
        el("code", {}, `${entry.method} `, pathLabel(entry.path)), el("span", { dir: "auto" },
          entry.reason), el("code", { class: "pointer" }, entry.pointer)])),
    rest > 0 ? hintLine(`and ${formatNumber(rest)} more; openapi-tools list prints all.`) : null,
  ];
}
