// Starts the page: its header, search, keys and colours, and the first view.
"use strict";

async function startPage() {
  const main = byId("main");
  try {
    const store = openStore();
    const index = await store.index();
    const list = openList(index, byId("list"), byId("count"));
    await showPage({ main, list, store, index });
  } catch (error) {
    document.body.dataset.view = "failed"; // there is nothing to search or to choose
    fill(main, failureState(error, () => location.reload()));
  }
}

async function showPage(parts) {
  const { list, index } = parts;
  const views = openViews(parts);
  showHead(index);
  listenToKeys({ ...listenToSearch(list), drawMore: list.drawMore });
  listenToTheme();
  byId("profile").addEventListener("change", () => views.chooseProfile(byId("profile").value));
  addEventListener("hashchange", () => views.show({ isFocused: true }));
  await views.show({ isFocused: false });
  list.setCosts(await views.readCosts());
}

function showHead(index) {
  byId("title").textContent = byId("title").title = index.title;
  byId("version").textContent = index.version;
  byId("changes-link").hidden = !index.changes;
  byId("changes-count").textContent = index.changes ? formatNumber(index.changes.length) : "";
  byId("mock").hidden = !index.mock;
  fill(byId("profile"), index.profiles.map((name) => el("option", {}, name)));
}

/** Search as words are typed; return what keys do with the search. */
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
  return { showList, focusSearch, clearSearch: resetSearch };
}

/** Show the list, which is a view of its own on a narrow screen. */
function showList() {
  if (!byId("side").checkVisibility()) document.body.dataset.view = "home";
}

function focusSearch() {
  showList();
  byId("search").focus();
  byId("search").select();
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
