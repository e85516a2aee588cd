// The list of tools: by tag while nothing is searched, the best hits first otherwise. Rows are made
// as they are scrolled to, so that a key among a thousand tools waits for sixty rows at most.
"use strict";

const ROWS_AT_ONCE = 60;
const SCROLL_AHEAD = 600; // pixels
const MOST_OPEN = 60; // tools; groups of a larger document begin closed
const LONGEST_TAIL = 28; // characters of a path that are displayed in full
const NO_TAG = "untagged";

/** Return the list; `show` takes the words and the safety of a search. */
function openList(index, list, count) {
  const entries = index.tools.map(searchEntry);
  const groups = groupByTag(entries);
  const changed = new Set((index.changes || []).flatMap((change) => change.tools));
  const open = new Set(entries.length <= MOST_OPEN ? groups.map(({ tag }) => tag) : []);
  let query = { words: "", safety: "" };
  let items = [];
  let made = 0;
  let costs = null;
  let most = 1;
  let chosen = "";

  function show(words, safety) {
    query = { words, safety };
    const hits = findEntries(entries, words, safety);
    items = words.trim() || groups.length < 2
      ? hits.map((entry) => ({ entry })) : groupedItems(new Set(hits));
    count.textContent = hits.length === entries.length ? countOf(entries.length, "tool")
      : `${formatNumber(hits.length)} of ${countOf(entries.length, "tool")}`;
    list.scrollTop = 0;
    draw(ROWS_AT_ONCE);
  }

  function groupedItems(hits) {
    return groups.flatMap(({ tag, entries: members }) => {
      const matching = members.filter((entry) => hits.has(entry));
      if (!matching.length) return [];
      const rows = open.has(tag) ? matching.map((entry) => ({ entry })) : [];
      return [{ tag, size: matching.length }, ...rows];
    });
  }

  function noHits() {
    const reset = el("button", { type: "button", click: resetSearch }, "Clear the search");
    return el("li", { class: "no-hits" }, el("p", {}, "No tool matches."), hintLine(
      "Every word has to be in the name, path, tag or summary of a tool."), reset);
  }

  function noTools() {
    return el("li", { class: "no-hits" }, el("p", {}, "There are no tools."));
  }

  function draw(least) {
    made = 0;
    list.replaceChildren();
    while (made < Math.min(least, items.length)) drawMore();
    if (!items.length) list.append(entries.length ? noHits() : noTools());
  }

  function drawMore() {
    const next = items.slice(made, made + ROWS_AT_ONCE);
    made += next.length;
    list.append(...next.map((item) => (item.entry ? makeRow(item.entry) : makeGroup(item))));
  }

  function makeGroup({ tag, size }) {
    const button = el("button", { type: "button", "aria-expanded": String(open.has(tag)),
      click: () => toggleGroup(tag) },
    el("span", { class: "group-name" }, el("bdi", {}, tag)), el("span", { class: "size" },
      formatNumber(size)));
    return el("li", { class: "group", "data-tag": tag }, button);
  }

  /** Open or close a group; the focus and the place of the list stay. */
  function toggleGroup(tag) {
    if (open.has(tag)) open.delete(tag);
    else open.add(tag);
    const { scrollTop } = list;
    items = groupedItems(new Set(findEntries(entries, "", query.safety)));
    draw(Math.max(made, ROWS_AT_ONCE) + ROWS_AT_ONCE);
    list.scrollTop = scrollTop;
    const group = [...list.children].find((item) => item.dataset.tag === tag);
    group.firstElementChild.focus({ preventScroll: true });
  }

  function makeRow(entry) {
    const { tool } = entry;
    const isCurrent = tool.name === chosen;
    return el("li", { class: "row" }, el("a", { href: `#${tool.name}`, title: tool.summary,
      class: tool.deprecated ? "deprecated" : null, "aria-current": isCurrent ? "page" : null },
    methodBadge(tool.method, tool.safety),
    el("span", { class: "name" }, breakableName(tool.name)),
    costLabel(entry),
    splitPath(tool.path),
    changed.has(tool.name) ? el("span", { class: "changed" }, "changed") : null,
    isFoundBySummary(entry) ? el("span", { class: "summary", dir: "auto" }, tool.summary) : null));
  }

  function isFoundBySummary(entry) {
    const words = query.words.toLowerCase().split(/[\s_]+/).filter(Boolean);
    return words.some((word) => scoreWord(entry, word) === 1);
  }

  function costLabel(entry) {
    const cost = costs && costs[entry.at];
    if (!costs) return el("span", { class: "cost" });
    if (!cost) return el("span", { class: "cost none", title: "no definition" }, "–");
    return el("span", { class: "cost", title: `${formatNumber(cost[1])} tokens` },
      formatNumber(cost[1]), meter(cost[1] / most, "model"));
  }

  /** Scroll to the row of a tool, if it is among the items and out of sight. */
  function revealRow(entry) {
    const at = items.findIndex((item) => item.entry === entry);
    while (at >= made) drawMore();
    const row = list.children[at];
    if (!row) return;
    const frame = list.getBoundingClientRect();
    const box = row.getBoundingClientRect();
    const isVisible = box.top >= frame.top && box.bottom <= frame.bottom;
    if (!isVisible) list.scrollTop += box.top - frame.top - frame.height / 3;
  }

  /** Make more rows when the last one comes near: the list scrolls, on narrow screens the page. */
  function drawAhead() {
    const last = list.lastElementChild;
    const isNear = last && last.getBoundingClientRect().top < innerHeight + SCROLL_AHEAD;
    if (isNear && made < items.length) drawMore();
  }

  addEventListener("scroll", drawAhead, { capture: true, passive: true });

  return {
    show,
    /** Mark the tool that is displayed, and open the first group that has it. */
    choose(name) {
      chosen = name;
      const entry = entries.find(({ tool }) => tool.name === name);
      const tags = entry ? tagsOf(entry.tool) : [];
      const isHidden = !query.words.trim() && tags.length && !tags.some((tag) => open.has(tag));
      if (isHidden && groups.length > 1) {
        open.add(tags[0]);
        show(query.words, query.safety);
      }
      markCurrent(list, name);
      if (entry) revealRow(entry);
    },
    setCosts(values) {
      costs = values;
      most = Math.max(1, ...values.map((cost) => (cost ? cost[1] : 0)));
      // The rows stay: one of them may have the focus.
      items.slice(0, made).forEach(({ entry }, at) => {
        if (entry) list.children[at].querySelector(".cost").replaceWith(costLabel(entry));
      });
    },
    drawMore,
  };
}

function groupByTag(entries) {
  const groups = new Map();
  for (const entry of entries) {
    for (const tag of tagsOf(entry.tool)) {
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(entry);
    }
  }
  return [...groups].map(([tag, members]) => ({ tag, entries: members }));
}

function tagsOf(tool) {
  return tool.tags.length ? tool.tags : [NO_TAG];
}

function markCurrent(list, name) {
  for (const link of list.querySelectorAll("a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** Return a path that is shortened in its middle: its last segments tell it apart. */
function splitPath(path) {
  const last = path.lastIndexOf("/");
  const lastTwo = path.lastIndexOf("/", last - 1);
  const end = path.length - lastTwo > LONGEST_TAIL ? last : lastTwo;
  const cut = end > 0 ? end : path.length;
  return el("bdi", { class: "row-path", dir: "ltr" },
    el("span", { class: "path-head" }, path.slice(0, cut)),
    el("span", { class: "path-tail" }, path.slice(cut)));
}
