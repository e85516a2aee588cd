// What the definitions of the whole tool set cost: a map of tokens, tags, and the largest tools.
"use strict";

const MAP_WIDTH = 16; // of its sides, as the style sheet has them
const MAP_HEIGHT = 9;
const LABELLED_WIDTH = 0.14; // of the map; smaller cells have no space for a name
const LABELLED_HEIGHT = 0.1;
const LARGEST_TOOLS = 20;
const MOST_TILES = 120;

/** Return the cost of tools in all: [bytes, tokens, bytes of the complete ones, their tokens]. */
function sumCosts(costs) {
  const present = costs.filter(Boolean);
  return [0, 1, 2, 3].map((at) => present.reduce((sum, cost) => sum + cost[at], 0));
}

/** Return the tools by tag, each with the costs and safeties of its tools. */
function groupCosts(index, costs) {
  const groups = new Map();
  index.tools.forEach((tool, at) => {
    for (const tag of tagsOf(tool)) {
      if (!groups.has(tag)) groups.set(tag, { tag, tools: [], tokens: 0 });
      const group = groups.get(tag);
      const tokens = costs[at] ? costs[at][1] : 0;
      group.tools.push({ tool, tokens, isOver: isOverBudget(index, costs[at]) });
      group.tokens += tokens;
    }
  });
  return [...groups.values()].sort((one, other) => other.tokens - one.tokens);
}

/** Return whether the complete definition is larger than the budget for one. */
function isOverBudget({ limits }, cost) {
  return Boolean(cost && limits.bytes && cost[2] > limits.bytes);
}

function sizesView(index, costs, profile) {
  if (!index.tools.length) return [viewHead("Sizes", ""), noToolsState()];
  const groups = groupCosts(index, costs);
  return [
    viewHead("Sizes", `What the definitions cost a model in every request, for ${profile}. `
      + "A tile is as large as its tokens."),
    sizeCards(index, costs),
    section("Map of tokens", {}, treemapView(groups)),
    section("Largest tools", { lead: "Bright: the definition. Pale: what was shortened." },
      largestTools(index, costs)),
    section("By tag", {}, tagTable(groups)),
  ];
}

function sizeCards(index, costs) {
  const [bytes, tokens, , full] = sumCosts(costs);
  const over = costs.filter((cost) => isOverBudget(index, cost)).length;
  return statCards([
    ["Tokens of all definitions", tokens, `${formatBytes(bytes)}; ${index.tokens}`, "model"],
    ["Saved by shortening", full > tokens ? formatPercent(1 - tokens / full) : "0 %",
      `of the ${formatNumber(full)} tokens of complete definitions`, "model"],
    ["Over the budget before shortening", over, index.limits.bytes
      ? `${formatNumber(index.limits.bytes)} bytes for each definition` : "no budget is set"],
  ]);
}

/** Return a map of the tags; a tile leads into the map of its tools, and back. */
function treemapView(groups) {
  const place = el("div", {});
  const hasOver = groups.some(({ tools }) => tools.some(({ isOver }) => isOver));

  function showTags() {
    const tiles = groups.map((group) => ({ label: group.tag, tokens: group.tokens,
      detail: safetyCounts(group.tools), cells: group.tools, open: () => showTools(group) }));
    fill(place, mapLegend(null, hasOver), treemap("Tokens by tag", tiles));
  }

  function showTools(group) {
    const tools = [...group.tools].sort((one, other) => other.tokens - one.tokens);
    const tiles = tools.map(({ tool, tokens, isOver }) => ({ label: tool.name, tokens, isOver,
      detail: `${tool.method}, ${tool.safety}${isOver ? ", over budget" : ""}`,
      safety: tool.safety, href: `#${tool.name}` }));
    const back = el("button", { type: "button", class: "small", click() {
      showTags();
      place.querySelector(".tile").focus();
    } }, "← All tags");
    fill(place, mapLegend([back, el("strong", { dir: "auto" }, group.tag)], hasOver),
      treemap(`Tokens of ${group.tag}`, tiles));
    back.focus();
  }

  if (groups.length > 1) showTags();
  else showTools(groups[0]);
  return place;
}

function safetyCounts(tools) {
  return Object.keys(SAFETIES).map((safety) =>
    `${tools.filter(({ tool }) => tool.safety === safety).length} ${safety}`).join(", ");
}

function mapLegend(title, hasOver) {
  const names = [...Object.keys(SAFETIES), ...(hasOver ? ["over budget"] : [])];
  return el("div", { class: "map-head" }, el("div", { class: "map-title" }, title),
    el("div", { class: "legend", "aria-label": "What calls may do", role: "group" },
      names.map((name) => el("span", {},
        el("span", { class: `swatch cell ${name}`, "aria-hidden": "true" }), name))));
}

function treemap(label, tiles) {
  const visible = tiles.filter(({ tokens }) => tokens).slice(0, MOST_TILES);
  const areas = layOutTreemap(visible.map(({ tokens }) => tokens), MAP_WIDTH, MAP_HEIGHT);
  const map = el("div", { class: "treemap", role: "group", "aria-label": label },
    visible.map((tile, at) => tileElement(tile, areas[at])));
  const rest = tiles.length - visible.length;
  return el("div", {}, map,
    rest ? hintLine(`${countOf(rest, "smaller tile")} not displayed.`) : null);
}

function tileElement({ label, tokens, detail, safety = "", isOver, cells, open, href }, area) {
  const text = `${label}: ${formatNumber(tokens)} tokens, ${detail}`;
  const attributes = { class: `tile ${safety} ${isOver ? "over" : ""}`, title: text,
    "aria-label": text };
  const head = el("span", { class: "tile-head" },
    el("span", { class: "tile-name", dir: "auto" }, label),
    el("span", { class: "tile-size" }, formatNumber(tokens)));
  const content = [head, cells ? tileCells(cells, area) : null];
  const element = href ? el("a", { ...attributes, href }, content)
    : el("button", { ...attributes, type: "button", click: open }, content);
  return placeArea(element, area);
}

/** Return the tools of a tag as cells of its tile, by what their calls may do. */
function tileCells(tools, area) {
  const sized = tools.filter(({ tokens }) => tokens)
    .sort((one, other) => other.tokens - one.tokens);
  const areas = layOutTreemap(sized.map(({ tokens }) => tokens), area.width * MAP_WIDTH,
    area.height * MAP_HEIGHT);
  return el("span", { class: "tile-cells", "aria-hidden": "true" },
    sized.map((each, at) => placeArea(cellElement(each, areas[at], area), areas[at])));
}

function cellElement({ tool, isOver }, area, tile) {
  const isLarge = area.width * tile.width > LABELLED_WIDTH
    && area.height * tile.height > LABELLED_HEIGHT;
  return el("span", { class: `cell ${tool.safety} ${isOver ? "over" : ""}` },
    isLarge ? el("span", { class: "cell-name" }, breakableName(tool.name)) : null);
}

function placeArea(element, area) {
  return setVariables(element, { "--x": area.x, "--y": area.y, "--w": area.width,
    "--h": area.height });
}

function tagTable(groups) {
  const most = Math.max(1, ...groups.map(({ tokens }) => tokens));
  const safeties = Object.keys(SAFETIES);
  return dataTable("Tools by tag", ["Tag", "Tools", ...safeties, "Tokens", ""],
    groups.map(({ tag, tools, tokens }) => [
      el("span", { dir: "auto" }, tag), formatNumber(tools.length),
      ...safeties.map((safety) => formatNumber(tools.filter(({ tool }) =>
        tool.safety === safety).length)),
      formatNumber(tokens), meter(tokens / most, "model"),
    ]), { numeric: [1, 2, 3, 4, 5] });
}

function largestTools(index, costs) {
  const rows = index.tools.map((tool, at) => ({ tool, cost: costs[at] })).filter(({ cost }) => cost)
    .sort((one, other) => other.cost[1] - one.cost[1]).slice(0, LARGEST_TOOLS);
  if (!rows.length) return emptyState("No tool has a definition for this API.");
  const most = Math.max(1, ...rows.map(({ cost }) => cost[3]));
  return el("ul", { class: "bars wide" }, rows.map(({ tool, cost }) => el("li", {}, toolLink(tool),
    setVariables(meter(cost[1] / most, "model with-full"), { "--full": cost[3] / most }),
    el("span", { class: "bar-value" },
      isOverBudget(index, cost) ? [chip("over budget", "warn"), " "] : null, formatNumber(cost[1]),
      cost[3] > cost[1] ? el("small", {}, ` of ${formatNumber(cost[3])}`) : null))));
}
