// Starts the page: the address chooses what is shown, keys move between search, list and tool.
"use strict";

const START = "#/";
const SAFETIES = ["read only", "changes", "destructive"];

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
  listenToProfile(store, index, list, show);
  addEventListener("hashchange", () => show(true));
  document.addEventListener("keydown", moveByKey);
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address keeps the tool
    main.focus();
  });

  async function show(focus) {
    const name = decodeURIComponent(location.hash.slice(1));
    const isTool = names.has(name);
    document.body.classList.toggle("has-tool", isTool);
    document.title = isTool ? `${name} – ${index.title}` : index.title;
    list.choose(name);
    if (isTool) await showTool(name);
    else fill(main, overview(index, await store.costs(byId("profile").value), name));
    if (focus) {
      main.focus();
      main.scrollTop = 0;
      scrollTo(0, 0);
    }
  }

  async function showTool(name) {
    try {
      const tool = await store.tool(name);
      const back = el("p", { class: "back" }, el("a", { href: START }, "All tools"));
      fill(main, back, toolView(tool, byId("profile").value, store, index));
    } catch (error) {
      fill(main, el("p", { class: "fault", role: "alert" }, error.message));
    }
  }

  await show(false);
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
  byId("search-form").addEventListener("input", update);
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const first = byId("list").querySelector("a");
    if (first) first.click();
  });
  update();
}

function listenToProfile(store, index, list, show) {
  const select = byId("profile");
  const tell = async () => {
    list.setCosts(await store.costs(select.value));
  };
  select.addEventListener("change", () => {
    tell();
    show(false);
  });
  tell();
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
  const [bytes, tokens] = totalOf(costs);
  return [
    el("h2", {}, index.title),
    isUnknown ? el("p", { class: "fault", role: "alert" }, `No tool is called ${name}.`) : null,
    el("p", {}, `${counted(index.tools.length, "tool")}. Their definitions for `
      + `${byId("profile").value} take ${number(bytes)} bytes, ${number(tokens)} tokens `
      + `(${index.tokens}).`),
    index.mock ? el("p", {}, "Calls are answered from the document itself.") : null,
    index.differences ? section("Changes", differencesView(index.differences)) : null,
    section("Tags", tagsView(index, costs)),
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
      rows.get(tag).costs.push(costs[at]);
    }
  });
  const cells = (tag, { tools, costs: own }) => [
    tag ? el("button", { type: "button", class: "quiet", click: () => filterByTag(tag) }, tag)
      : "no tag",
    ...["", ...SAFETIES].map((safety) =>
      number(tools.filter((tool) => !safety || tool.safety === safety).length)),
    number(totalOf(own)[1]),
  ];
  return table("Tools by tag", ["Tag", "Tools", ...SAFETIES, "Tokens"],
    [...rows].map(([tag, found]) => cells(tag, found)));
}

function filterByTag(tag) {
  byId("tag").value = tag;
  byId("tag").dispatchEvent(new Event("input", { bubbles: true }));
  byId("search").focus();
}

function skippedView(skipped) {
  if (!skipped.length) return el("p", {}, "None: every operation is a tool.");
  return table("Skipped operations", ["Operation", "Reason", "Place"], skipped.map((entry) =>
    [`${entry.method} ${entry.path}`, entry.reason, el("code", {}, entry.pointer)]));
}

function differencesView(differences) {
  if (!differences.length) return el("p", {}, "Nothing changes for the tools.");
  return table("Changes of the tools", ["Tool", "Change", "Breaking", "What"],
    differences.map((entry) => [
      entry.tool ? el("a", { href: `#${entry.tool}` }, entry.tool) : "all",
      entry.kind, entry.breaking ? chip("breaking", "bad") : "no", entry.message,
    ]));
}

start();
