// Starts the page: the address chooses what is shown, keys move between search, list and tool.
"use strict";

const START = "#/";
const MOST_LINKS = 4;
const SAFETIES = ["read-only", "additive", "destructive"];

async function start() {
  const store = openStore();
  const main = byId("main");
  let index;
  try {
    index = await store.index();
  } catch (error) {
    fill(main, el("p", { class: "fault", role: "alert" }, error.message));
    return;
  }
  const names = new Map(index.tools.map((tool) => [tool.name, tool]));
  const list = openList(index.tools, byId("list"), byId("count"));
  showHead(index);
  listenToSearch(list);
  byId("profile").addEventListener("change", changeProfile);
  addEventListener("hashchange", () => show(true));
  document.addEventListener("keydown", moveByKey);
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address keeps the tool
    main.focus();
  });

  let shown = null; // the tool that is shown

  async function show(focus) {
    const name = wantedName();
    const isTool = names.has(name);
    document.body.classList.toggle("has-tool", isTool);
    document.title = isTool ? `${name} - ${index.title}` : index.title;
    list.choose(name);
    if (isTool) await showTool(name);
    else showOverview(name);
    if (focus) {
      main.focus();
      main.scrollTop = 0;
      scrollTo(0, 0);
    }
  }

  async function showTool(name) {
    try {
      shown = await store.tool(name);
      const back = el("p", { class: "back" }, el("a", { href: START }, "All tools"));
      fill(main, back, toolView(shown, byId("profile").value, store, index));
    } catch (error) {
      fill(main, el("p", { class: "fault", role: "alert" }, error.message));
    }
  }

  /** Show the page about the document, first without what the definitions cost. */
  async function showOverview(name) {
    shown = null;
    fill(main, overview(index, null, name));
    const costs = await store.costs(byId("profile").value);
    if (!shown && wantedName() === name) fill(main, overview(index, costs, name));
  }

  /** Show another profile; what the form holds stays. */
  async function changeProfile() {
    const profile = byId("profile").value;
    if (shown) byId("model").replaceWith(modelSection(shown, profile));
    else showOverview(wantedName());
    list.setCosts(await store.costs(profile));
  }

  await show(false);
  list.setCosts(await store.costs(byId("profile").value));
}

/** Return the name in the address; it may be of no tool. */
function wantedName() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return location.hash.slice(1);
  }
}

function showHead(index) {
  byId("title").textContent = index.title;
  byId("subtitle").textContent = index.version && `version ${index.version}`;
  fill(byId("profile"), index.profiles.map((name) => el("option", {}, name)));
  const tags = [...new Set(index.tools.flatMap((tool) => tool.tags))].sort();
  byId("tag").append(...tags.map((tag) => el("option", { value: tag }, tag)));
  byId("tag").disabled = !tags.length;
}

function listenToSearch(list) {
  const update = () => list.show(byId("search").value, byId("tag").value, byId("safety").value);
  byId("search").addEventListener("input", update);
  for (const id of ["tag", "safety"]) byId(id).addEventListener("change", update);
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const first = byId("list").querySelector("a");
    if (first) first.click();
  });
  update();
}

/** Move by keys: `/` to the search, arrows through the list. */
function moveByKey(event) {
  const active = document.activeElement;
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(active.tagName);
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    byId("search").focus();
    byId("search").select();
    return;
  }
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const row = active.closest("#list li");
  const isDown = event.key === "ArrowDown";
  let next = null;
  if (active.id === "search" && isDown) next = byId("list").firstElementChild;
  else if (row) next = isDown ? row.nextElementSibling : row.previousElementSibling;
  else return;
  event.preventDefault();
  if (next) next.firstElementChild.focus();
  else if (row && !isDown) byId("search").focus();
}

/** Return the page about the document: what there is, what was skipped, what has changed. */
function overview(index, costs, name) {
  const isUnknown = name && name !== "/";
  return [
    el("h2", {}, index.title),
    isUnknown ? el("p", { class: "fault", role: "alert" }, `No tool is called ${name}.`) : null,
    el("p", {}, `${counted(index.tools.length, "tool")}. Their definitions for `
      + `${byId("profile").value} take ${costs ? inBytes(totalOf(costs)) : "…"} `
      + `(${index.tokens}).`),
    index.mock ? el("p", {}, "Calls are answered from the document itself.") : null,
    index.changes ? section("Changes", changesView(index.changes)) : null,
    index.tools.some((tool) => tool.tags.length) ? section("Tags", tagsView(index, costs)) : null,
    section("Skipped operations", skippedView(index.skipped)),
    index.warnings.length ? section("Remarks on the document",
      el("ul", {}, index.warnings.map((warning) => el("li", {}, warning)))) : null,
  ];
}

function totalOf(costs) {
  return costs.reduce((sum, cost) => (cost ? [sum[0] + cost[0], sum[1] + cost[1]] : sum), [0, 0]);
}

/** Return a table of the tags: tools, their safety, tokens. */
function tagsView(index, costs) {
  const rows = new Map();
  index.tools.forEach((tool, at) => {
    for (const tag of tool.tags.length ? tool.tags : [""]) {
      if (!rows.has(tag)) rows.set(tag, { tools: [], costs: [] });
      rows.get(tag).tools.push(tool);
      rows.get(tag).costs.push(costs && costs[at]);
    }
  });
  const cells = (tag, { tools, costs: own }) => [
    tag ? el("button", { type: "button", class: "quiet", click: () => filterByTag(tag) }, tag)
      : "no tag",
    ...["", ...SAFETIES].map((safety) =>
      number(tools.filter((tool) => !safety || tool.safety === safety).length)),
    costs ? number(totalOf(own)[1]) : "…",
  ];
  return table("Tools by tag", ["Tag", "Tools", ...SAFETIES, "Tokens"],
    [...rows].map(([tag, found]) => cells(tag, found)));
}

function filterByTag(tag) {
  byId("tag").value = tag;
  byId("tag").dispatchEvent(new Event("change"));
  byId("search").focus();
}

function skippedView(skipped) {
  if (!skipped.length) return el("p", {}, "None: every operation is a tool.");
  return table("Skipped operations", ["Operation", "Reason", "Place"], skipped.map((entry) =>
    [`${entry.method} ${entry.path}`, entry.reason, el("code", {}, entry.pointer)]));
}

/** Return a table with one row for each difference; the tools that it changes are links. */
function changesView(changes) {
  if (!changes.length) return el("p", {}, "Nothing changes for the tools.");
  return table("Changes of the tools", ["Breaking", "Change", "What", "Tools"],
    changes.map((entry) => [
      entry.breaking ? chip("breaking", "bad") : "no", entry.kind,
      [el("div", {}, entry.message), el("code", {}, entry.pointer)],
      linksOf(entry.tools),
    ]));
}

function linksOf(names) {
  const links = names.flatMap((name) => [el("a", { href: `#${name}` }, name), " "]);
  if (names.length <= MOST_LINKS) return links;
  return el("details", {}, el("summary", {}, counted(names.length, "tool")), links);
}

start();
