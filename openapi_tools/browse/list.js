// The list of tools: search, filters, and rows that are made as they are scrolled to.
"use strict";

const ROWS_AT_ONCE = 60;
const WHOLE_NAME = 100;

/** Return the list; `show` takes the wanted words, tag and safety. */
function openList(tools, list, count) {
  const entries = tools.map((tool, at) => ({ tool, at, row: null, ...searched(tool) }));
  let matching = entries;
  let made = 0;
  let costs = null;
  let chosen = "";

  function show(words, tag, safety) {
    matching = matchesOf(entries, words.toLowerCase().trim(), tag, safety);
    made = 0;
    list.replaceChildren();
    list.scrollTop = 0;
    more();
    count.textContent = matching.length === tools.length
      ? counted(tools.length, "tool")
      : `${number(matching.length)} of ${counted(tools.length, "tool")}`;
  }

  function more() {
    const next = matching.slice(made, made + ROWS_AT_ONCE);
    made += next.length;
    list.append(...next.map(rowOf));
  }

  function rowOf(entry) {
    entry.row = entry.row || makeRow(entry.tool);
    mark(entry);
    tellCost(entry);
    return entry.row;
  }

  function mark(entry) {
    const link = entry.row.firstChild;
    if (entry.tool.name === chosen) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }

  function tellCost(entry) {
    const cost = costs && costs[entry.at];
    entry.row.querySelector(".cost").textContent = cost ? `${number(cost[1])} tokens` : "";
  }

  list.addEventListener("scroll", () => {
    if (list.scrollTop + list.clientHeight > list.scrollHeight - 400) more();
  });

  return {
    show,
    choose(name) {
      chosen = name;
      entries.filter((entry) => entry.row).forEach(mark);
    },
    setCosts(found) {
      costs = found;
      entries.filter((entry) => entry.row).forEach(tellCost);
    },
  };
}

function searched(tool) {
  return {
    name: tool.name.toLowerCase(),
    path: `${tool.method} ${tool.path}`.toLowerCase(),
    summary: tool.summary.toLowerCase(),
    tags: tool.tags.join(" ").toLowerCase(),
  };
}

/** Return the entries that have every wanted word, the best ones first; `_` parts words, too. */
function matchesOf(entries, words, tag, safety) {
  const wanted = words.split(/[\s_]+/).filter(Boolean);
  const found = [];
  for (const entry of entries) {
    if (tag && !entry.tool.tags.includes(tag)) continue;
    if (safety && entry.tool.safety !== safety) continue;
    const scores = wanted.map((word) => scoreOf(entry, word));
    const whole = words && entry.name.startsWith(words) ? WHOLE_NAME : 0;
    if (scores.every(Boolean)) found.push([scores.reduce((a, b) => a + b, whole), entry]);
  }
  if (wanted.length) found.sort((one, other) => other[0] - one[0]);
  return found.map(([, entry]) => entry);
}

function scoreOf(entry, word) {
  if (entry.name.startsWith(word)) return 8;
  if (entry.name.includes(`_${word}`)) return 6;
  if (entry.name.includes(word)) return 4;
  if (entry.path.includes(word)) return 3;
  if (entry.tags.includes(word)) return 2;
  return entry.summary.includes(word) ? 1 : 0;
}

function makeRow(tool) {
  return el("li", {},
    el("a", { href: `#${tool.name}`, class: tool.deprecated ? "old" : null },
      el("span", { class: "name" }, breakable(tool.name)),
      el("span", { class: "cost" }),
      el("span", { class: "line" }, methodChip(tool.method), " ",
        el("span", { class: "summary" }, tool.summary))));
}
