// Where the page's data comes from: the server that served the page, or the page's own file.
"use strict";

const KEY_HEADER = "x-openapi-tools-key";
const POOL_MARK = "\u0001";

/** Return the store of this page: `index`, `costs`, `tool`, and for a server `preview`, `execute`. */
function openStore() {
  const embedded = document.getElementById("data");
  return embedded ? fileStore(JSON.parse(embedded.textContent)) : serverStore(takeKey());
}

/** Return the key of this run from the address, which loses it, or from an earlier visit. */
function takeKey() {
  const address = new URL(location.href);
  const given = address.searchParams.get("key");
  if (given) {
    localStorage.setItem("key", given);
    address.searchParams.delete("key");
    history.replaceState(null, "", address);
  }
  return given || localStorage.getItem("key") || "";
}

function serverStore(key) {
  const known = new Map();

  async function ask(what, given) {
    const headers = { "content-type": "application/json", [KEY_HEADER]: key };
    const asked = { method: "POST", headers, body: json(given) };
    const answer = await fetch(`api/${what}`, asked).catch(() => {
      throw new Error("the server does not answer; does `openapi-tools browse` still run?");
    });
    const value = await answer.json();
    if (!answer.ok) throw new Error(value.error || `status ${answer.status}`);
    return value;
  }

  /** Ask once for what does not change. */
  function remembered(what, given) {
    const name = json([what, given]);
    if (!known.has(name)) {
      const found = ask(what, given);
      known.set(name, found);
      found.catch(() => known.delete(name));
    }
    return known.get(name);
  }

  return {
    canExecute: true,
    index: () => remembered("index", {}),
    costs: (profile) => remembered("costs", { profile }),
    tool: (name) => remembered("tool", { name }),
    preview: (name, values) => ask("preview", { name, arguments: values }),
    execute: (name, values, approved) => ask("execute", { name, arguments: values, approved }),
  };
}

/** Return a store of the data in the file; values that occur repeatedly are in its pool. */
function fileStore(data) {
  const pool = data.pool;

  function whole(node) {
    if (typeof node === "string" && node.startsWith(POOL_MARK)) {
      const rest = node.slice(1);
      return rest.startsWith(POOL_MARK) ? rest : whole(pool[Number(rest)]);
    }
    if (Array.isArray(node)) return node.map(whole);
    if (node === null || typeof node !== "object") return node;
    return Object.fromEntries(Object.entries(node).map(([key, part]) => [key, whole(part)]));
  }

  /** Return a member of the page's data, its own members not yet looked at. */
  function part(name) {
    const found = data[name];
    return typeof found === "string" ? pool[Number(found.slice(1))] : found;
  }

  return {
    canExecute: false,
    index: async () => whole(data.index),
    costs: async (profile) => whole(part("costs")[profile]),
    tool: async (name) => whole(part("tools")[name]),
  };
}

function json(value, indent) {
  return JSON.stringify(value, null, indent);
}
