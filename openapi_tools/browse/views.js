// The view that the address names: a tool, the document, sizes, needs or changes.
"use strict";

const VIEWS = { "": "home", "/": "overview", "/sizes": "sizes", "/needs": "needs",
  "/changes": "changes" };

/** Return the views of the page: `show` the one of the address, `chooseProfile` of definitions. */
function openViews({ main, list, store, index }) {
  const tools = new Map(index.tools.map((tool) => [tool.name, tool]));
  const context = { store, index, profile: index.profiles[0], chooseProfile };
  let latest = 0;

  async function show({ isFocused }) {
    const address = addressOfView();
    const number = latest += 1;
    const isLatest = () => number === latest; // another view may be asked for meanwhile
    markView(address, tools.has(address), index.title);
    list.choose(address);
    main.setAttribute("aria-busy", "true");
    try {
      for await (const content of makeContents(address)) {
        if (!isLatest()) return;
        fill(main, content);
      }
    } catch (error) {
      if (isLatest()) fill(main, failureState(error, () => show({ isFocused: true })));
    }
    if (!isLatest()) return;
    main.removeAttribute("aria-busy");
    if (isFocused) focusMain(main);
  }

  /** Yield the content of a view; the overview first without its costs, which take a moment. */
  async function* makeContents(address) {
    const view = VIEWS[address];
    if (tools.has(address)) {
      yield toolView(await store.tool(address), context);
    } else if (view === "sizes") yield sizesView(index, await readCosts(), context.profile);
    else if (view === "needs") yield needsView(index, await store.needs());
    else if (view === "changes" && index.changes) yield changesView(index);
    else if (view === "home" || view === "overview") {
      yield overviewView(index, null, context);
      yield overviewView(index, await readCosts(), context);
    } else yield missingView(address);
  }

  function readCosts() {
    return store.costs(context.profile);
  }

  /** Show definitions for another API; what the form holds stays. */
  async function chooseProfile(profile) {
    const { scrollTop } = main;
    context.profile = byId("profile").value = profile;
    if (byId("model")) replaceModelSection(await store.tool(addressOfView()));
    else await show({ isFocused: false });
    main.scrollTop = scrollTop;
    list.setCosts(await readCosts());
  }

  function replaceModelSection(tool) {
    const hadFocus = byId("model").contains(document.activeElement);
    byId("model").replaceWith(modelSection(tool, context));
    if (hadFocus) byId("model").querySelector("[aria-pressed=true]").focus();
  }

  return { show, chooseProfile, readCosts };
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

function markView(address, isTool, title) {
  document.body.dataset.view = isTool ? "tool" : VIEWS[address] || "missing";
  document.title = isTool ? `${address} · ${title}` : title;
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
    hintLine(el("a", { href: "#/" }, "Show the document"), " or search the list."));
}
