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

  async function ask(path, body) {
    const options = { headers: { [KEY_HEADER]: key } };
    if (body !== undefined) {
      options.method = "POST";
      options.headers["content-type"] = "application/json";
      options.body = body;
    }
    const answer = await fetch(path, options);
    const value = await answer.json();
    if (!answer.ok) throw new Error(value.error || `status ${answer.status}`);
    return value;
  }

  function remembered(path) {
    if (!known.has(path)) {
      const found = ask(path);
      known.set(path, found);
      found.catch(() => known.delete(path));
    }
    return known.get(path);
  }

  return {
    canExecute: true,
    index: () => remembered("api/index"),
    costs: (profile) => remembered(`api/costs?profile=${encodeURIComponent(profile)}`),
    tool: (name) => remembered(`api/tool?name=${encodeURIComponent(name)}`),
    preview: (name, values) => ask("api/preview", json({ name, arguments: values })),
    execute: (name, values, approved) =>
      ask("api/execute", json({ name, arguments: values, approved })),
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
