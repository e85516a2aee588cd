// Keys: `/` searches, arrows or j and k move through the list, Escape goes back, `?` lists them.
"use strict";

const TYPING = /^(INPUT|TEXTAREA|SELECT)$/;
const SINGLE_KEYS = "single-keys"; // a preference: speech input would press them by mistake

/** Listen to the keys of the whole page; `views` shows the list or a tool. */
function listenToKeys(views) {
  const help = byId("help");
  const single = byId("single-keys");
  single.checked = readPreference(SINGLE_KEYS) !== "off";
  single.addEventListener("change", () =>
    keepPreference(SINGLE_KEYS, single.checked ? "on" : "off"));
  byId("help-button").addEventListener("click", () => help.showModal());

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    const act = keyAction(event.key, document.activeElement, single.checked);
    if (!act) return;
    event.preventDefault();
    act();
  });

  /** Return what a key does where the focus is; null where it has no meaning. */
  function keyAction(key, active, hasSingleKeys) {
    const isTyping = TYPING.test(active.tagName) && active.type !== "radio";
    const inList = Boolean(active.closest("#list"));
    if (key === "Escape") return () => goBack(active);
    if (active.id === "search" && key === "ArrowDown") return () => focusRow(1);
    if (inList && key === "ArrowDown") return () => focusRow(1);
    if (inList && key === "ArrowUp") return () => focusRow(-1);
    if (isTyping || !hasSingleKeys) return null;
    const actions = { "/": views.focusSearch, j: () => focusRow(1), k: () => focusRow(-1),
      "?": () => help.showModal() };
    return Object.hasOwn(actions, key) ? actions[key] : null;
  }

  /** Go from a field to its tool, to the list, to the search, and empty that. */
  function goBack(active) {
    if (active.id === "search") views.clearSearch();
    else if (TYPING.test(active.tagName) && active.closest("main")) byId("main").focus();
    else if (active.closest("#side")) views.focusSearch();
    else focusCurrentRow();
  }

  function focusCurrentRow() {
    views.showList();
    const current = byId("list").querySelector("[aria-current]");
    if (current) focusItem(current);
    else views.focusSearch();
  }

  /** Move the focus by a row; from outside of the list, from the row of the tool on display. */
  function focusRow(step) {
    views.showList();
    const list = byId("list");
    const active = document.activeElement.closest("#list li");
    const current = list.querySelector("[aria-current]");
    const from = active || (document.activeElement.id !== "search" && current
      ? current.parentElement : null);
    const isLast = step > 0 && from && !from.nextElementSibling;
    if (isLast) views.drawMore();
    const next = from ? (step > 0 ? from.nextElementSibling : from.previousElementSibling)
      : list.firstElementChild;
    const target = next && next.querySelector("a, button");
    if (target) focusItem(target);
    else if (step < 0) views.focusSearch();
  }

  function focusItem(element) {
    element.focus({ preventScroll: true });
    element.scrollIntoView({ block: "nearest" });
  }
}
