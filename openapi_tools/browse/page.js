// Starts the page: the address chooses the view, the header the API (profile) of definitions.
"use strict";

const HOME = "#/";
const VIEWS = { "": "home", "/": "overview", "/sizes": "sizes", "/needs": "needs",
  "/changes": "changes" };

async function startPage() {
  const main = byId("main");
  try {
    const store = openStore();
    await showPage(main, store, await store.index());
  } catch (error) {
    document.body.dataset.view = "overview";
    fill(main, el("div", { class: "empty" }, faultMessage(error.message)));
  }
}

async function showPage(main, store, index) {
  const tools = new Map(index.tools.map((tool) => [tool.name, tool]));
  const list = openList(index, byId("list"), byId("count"));
  const context = { store, index, profile: index.profiles[0], chooseProfile };
  let displayed = null; // the tool on display
  let latest = 0;

  async function show(isFocused) {
    const address = addressOfView();
    const number = latest += 1;
    document.body.dataset.view = tools.has(address) ? "tool" : VIEWS[address] || "missing";
    document.title = tools.has(address) ? `${address} · ${index.title}` : index.title;
    markView(address);
    list.choose(address);
    main.setAttribute("aria-busy", "true");
    try {
      const content = await makeView(address, () => number === latest);
      if (number === latest) fill(main, content);
    } catch (error) {
      if (number === latest) fill(main, faultMessage(error.message));
    }
    main.removeAttribute("aria-busy");
    if (number === latest && isFocused) focusMain(main);
  }

  async function makeView(address, isLatest) {
    displayed = null;
    if (tools.has(address)) {
      const tool = await store.tool(address);
      if (isLatest()) displayed = tool;
      return toolView(tool, context);
    }
    const view = VIEWS[address];
    if (view === "sizes") return sizesView(index, await costsOf(), context.profile);
    if (view === "needs") return needsView(index, await store.needs());
    if (view === "changes" && index.changes) return changesView(index);
    if (!view || view === "changes") return missingView(address);
    fill(main, overviewView(index, null, context.profile)); // its costs take a moment
    return overviewView(index, await costsOf(), context.profile);
  }

  function costsOf() {
    return store.costs(context.profile);
  }

  /** Show definitions for another API; what the form holds stays. */
  async function chooseProfile(profile) {
    const { scrollTop } = main;
    context.profile = profile;
    byId("profile").value = profile;
    if (displayed) {
      const hadFocus = byId("model").contains(document.activeElement);
      byId("model").replaceWith(modelSection(displayed, context));
      if (hadFocus) byId("model").querySelector("[aria-pressed=true]").focus();
    } else {
      await show(false);
    }
    main.scrollTop = scrollTop;
    list.setCosts(await costsOf());
  }

  showHead(index);
  const search = listenToSearch(list);
  byId("profile").addEventListener("change", () => chooseProfile(byId("profile").value));
  addEventListener("hashchange", () => show(true));
  listenToKeys({ ...search, drawMore: list.drawMore });
  listenToTheme();
  await show(false);
  list.setCosts(await costsOf());
}

/** Return what the address names: a tool or a view. */
function addressOfView() {
  const address = location.hash.slice(1);
  try {
    return decodeURIComponent(address);
  } catch {
    return address;
  }
}

function markView(address) {
  for (const link of byId("views").querySelectorAll("a")) {
    const isCurrent = link.hash.slice(1) === (address || "/");
    if (isCurrent) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function focusMain(main) {
  main.focus({ preventScroll: true });
  main.scrollTop = 0;
  scrollTo(0, 0);
}

function missingView(address) {
  return el("div", { class: "empty" },
    el("p", { role: "alert" }, "No tool is called ", el("code", { dir: "auto" }, address), "."),
    hintLine(el("a", { href: HOME }, "Show the document"), " or search the list."));
}

function showHead(index) {
  byId("title").textContent = byId("title").title = index.title;
  byId("version").textContent = index.version;
  byId("changes-link").hidden = !index.changes;
  byId("changes-count").textContent = index.changes ? formatNumber(index.changes.length) : "";
  byId("mock").hidden = !index.mock;
  fill(byId("profile"), index.profiles.map((name) => el("option", {}, name)));
}

function listenToSearch(list) {
  const search = byId("search");
  const update = () => list.show(search.value, byId("safety").value);
  search.addEventListener("input", update);
  byId("safety").addEventListener("change", update);
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const first = byId("list").querySelector("a");
    if (first) first.click();
  });
  update();

  /** On a narrow screen the list is a view of its own. */
  function showList() {
    if (!byId("side").checkVisibility()) document.body.dataset.view = "home";
  }

  function focusSearch() {
    showList();
    search.focus();
    search.select();
  }

  return { showList, focusSearch, clearSearch: resetSearch };
}

function resetSearch() {
  byId("search").value = "";
  byId("safety").value = "";
  byId("search").dispatchEvent(new Event("input"));
  byId("search").focus();
}

function listenToTheme() {
  const button = byId("theme");
  const describe = () => {
    button.setAttribute("aria-label", `Colours: ${currentTheme()}. Change.`);
    button.title = `Colours: ${currentTheme()}`;
  };
  button.addEventListener("click", () => {
    chooseNextTheme();
    describe();
  });
  describe();
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address keeps the view
    byId("main").focus();
  });
}

startPage();
