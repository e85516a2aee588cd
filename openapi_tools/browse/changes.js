// What changes for the tools since an older document, breaking changes first.
"use strict";

const KINDS = {
  added: ["+", "Added"],
  removed: ["−", "Removed"],
  renamed: ["→", "Renamed"],
  schema: ["~", "Arguments"],
  operation: ["~", "Request"],
  description: ["~", "Description"],
};
const MOST_DETAILS = 12;

function changesView(index) {
  const { changes } = index;
  const breaking = changes.filter((change) => change.breaking);
  const other = changes.filter((change) => !change.breaking);
  const tools = new Set(changes.flatMap((change) => change.tools));
  const names = new Set(index.tools.map(({ name }) => name));
  return [
    viewHead("Changes", "What changes for the tools since the older document. A breaking change "
      + "makes calls fail that worked before."),
    changes.length ? statCards([
      ["Breaking changes", breaking.length, "Calls that worked may fail."],
      ["Other changes", other.length, "Calls that worked go on working."],
      ["Tools that differ", tools.size, "Added, removed, renamed and changed ones."],
    ]) : emptyState("Nothing changes for the tools.", "Both documents give the same tools."),
    breaking.length ? section("Breaking", {}, changeList(breaking, names)) : null,
    other.length ? section("Compatible", {}, changeList(other, names)) : null,
  ];
}

function changeList(changes, names) {
  return el("ul", { class: "changes" }, changes.map((change) => {
    const [mark, label] = KINDS[change.kind] || ["~", change.kind];
    return el("li", { class: `change ${change.kind}` },
      el("span", { class: "change-kind" },
        el("span", { class: "mark", "aria-hidden": "true" }, mark), ` ${label}`),
      el("div", { class: "change-body" }, changedTools(change, names), changeDetails(change)));
  }));
}

/** Return the tools of a change; those that no longer exist are no links. */
function changedTools(change, names) {
  const present = change.tools.filter((name) => names.has(name));
  const removed = change.tools.filter((name) => !names.has(name));
  return el("p", { class: "change-tools" }, present.length ? toolLinks(present) : null,
    removed.map((name) => el("code", { class: "gone" }, breakableName(name))));
}

function changeDetails({ details, pointer }) {
  const lines = details.filter(Boolean);
  const rest = lines.length - MOST_DETAILS;
  return [
    lines.length ? el("ul", { class: "details" },
      lines.slice(0, MOST_DETAILS).map((line) => el("li", { dir: "auto" }, line)),
      rest > 0 ? el("li", { class: "hint" }, `and ${formatNumber(rest)} more`) : null) : null,
    el("code", { class: "pointer" }, pointer),
  ];
}
