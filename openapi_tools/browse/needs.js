// What needs what: the tools whose responses yield what another tool requires.
"use strict";

const MOST_CONSUMERS = 12;
const MOST_SOURCES = 20;

/** Return the graph of needs: the producers of each tool by argument, and its consumers. */
function buildNeedsGraph(index, needs) {
  const consumers = index.tools.map(() => new Set());
  needs.forEach((wants, at) => {
    for (const places of Object.values(wants)) {
      for (const place of places) consumers[place].add(at);
    }
  });
  const places = new Map(index.tools.map(({ name }, at) => [name, at]));
  return { needs, consumers, places };
}

function toolLink(tool) {
  return el("a", { class: "tool-link", href: `#${tool.name}` },
    methodBadge(tool.method, tool.safety), el("span", { class: "name" }, breakableName(tool.name)));
}

/** Return the section of one tool: where its arguments come from, and what it yields is for. */
function needsSection(tool, { store, index }) {
  const flow = el("div", { class: "flow" }, el("p", { class: "loading" }, "Loading …"));
  store.needs().then(
    (needs) => fill(flow, flowColumns(tool, index, buildNeedsGraph(index, needs))),
    (error) => fill(flow, faultMessage(error.message)));
  return section("What needs what", { id: "flow",
    lead: "Found from names, paths and schemas: which tools yield what this one requires, and "
      + "which ones require what it yields." }, flow);
}

function flowColumns(tool, index, { needs, consumers, places }) {
  const place = places.get(tool.name);
  const sources = Object.entries(needs[place]);
  const users = [...consumers[place]].map((at) => index.tools[at]);
  return [
    el("div", { class: "flow-column" }, el("h4", {}, "Comes from"),
      sources.length ? sources.map(([argument, producers]) => argumentSources(argument,
        producers.map((at) => index.tools[at])))
        : hintLine("Nothing: it can be called first.")),
    el("div", { class: "flow-this" }, el("code", {}, breakableName(tool.name))),
    el("div", { class: "flow-column" }, el("h4", {}, "Leads to"),
      users.length ? consumerList(users) : hintLine("No tool requires what it yields.")),
  ];
}

function argumentSources(argument, producers) {
  return el("div", { class: "flow-argument" },
    el("code", { class: "field-name", dir: "auto" }, argument),
    producers.length ? producers.map(toolLink)
      : el("p", { class: "hint warn-text" }, "No tool yields it: it has to be known."));
}

function consumerList(users) {
  const rest = users.slice(MOST_CONSUMERS);
  return [
    users.slice(0, MOST_CONSUMERS).map(toolLink),
    rest.length ? el("details", { class: "quiet" },
      el("summary", {}, countOf(rest.length, "more tool")), rest.map(toolLink)) : null,
  ];
}

/** Return the view of the whole set: where to begin, what many need, what nothing yields. */
function needsView(index, needs) {
  if (!index.tools.length) return [viewHead("What needs what", ""), noToolsState()];
  const graph = buildNeedsGraph(index, needs);
  const counts = needs.map((wants) => Object.values(wants));
  const first = counts.filter((wants) => !wants.length).length;
  const unknown = counts.filter((wants) => wants.some((places) => !places.length)).length;
  const chained = index.tools.length - first - unknown;
  return [
    viewHead("What needs what", "Which tools yield what others require, found from names, paths "
      + "and schemas. A model that calls them in this order invents no identifiers."),
    statCards([
      ["Can be called first", first, "They require nothing that another tool yields."],
      ["Have a producer for everything", chained, "Call the producers first."],
      ["Require what no tool yields", unknown, "A user or a model has to know it."],
    ]),
    section("Sources", { lead: "The tools that yield what most others require." },
      sourceBars(index, graph)),
    section("To be known", { lead: "Variables of paths that no tool yields, and how many tools "
      + "require them." }, unknownArguments(index, needs)),
  ];
}

function sourceBars(index, { consumers }) {
  const sources = index.tools.map((tool, at) => ({ tool, count: consumers[at].size }))
    .filter(({ count }) => count).sort((one, other) => other.count - one.count);
  if (!sources.length) return emptyState("No tool yields what another one requires.");
  const most = sources[0].count;
  return el("ul", { class: "bars wide" }, sources.slice(0, MOST_SOURCES).map(({ tool, count }) =>
    el("li", {}, toolLink(tool), meter(count / most), el("span", { class: "bar-value" },
      countOf(count, "tool")))));
}

function unknownArguments(index, needs) {
  const tools = new Map();
  needs.forEach((wants, at) => {
    for (const [argument, places] of Object.entries(wants)) {
      if (places.length) continue;
      if (!tools.has(argument)) tools.set(argument, []);
      tools.get(argument).push(index.tools[at]);
    }
  });
  if (!tools.size) return emptyState("Every variable of a path has a tool that yields it.");
  const rows = [...tools].sort((one, other) => other[1].length - one[1].length)
    .slice(0, MOST_SOURCES);
  return dataTable("Arguments that no tool yields", ["Argument", "Tools", "Required by"],
    rows.map(([argument, users]) => [el("code", { dir: "auto" }, argument),
      formatNumber(users.length), toolLinks(users.map(({ name }) => name))]),
    { numeric: [1] });
}

const MOST_LINKS = 3;

/** Return links to tools; those of many tools are folded away. */
function toolLinks(names) {
  const links = names.map((name) => el("a", { class: "name", href: `#${name}` },
    breakableName(name)));
  const spaced = links.flatMap((link) => [link, " "]);
  if (names.length <= MOST_LINKS) return spaced;
  return el("details", { class: "quiet" },
    el("summary", {}, countOf(names.length, "tool")), spaced);
}
