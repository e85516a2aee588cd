// Where the page's data comes from: the server that served the page, or the page's own file.
"use strict";

const KEY_HEADER = "x-openapi-tools-key";
const POOL_MARK = "\u0001";

/** Return the data of this page; that of a server also has `preview` and `execute`. */
function openStore() {
  const embedded = byId("data");
  return embedded ? fileStore(JSON.parse(embedded.textContent)) : serverStore(takeKey());
}

/** Return the key of this run from the address, which loses it, or from an earlier visit. */
function takeKey() {
  const address = new URL(location.href);
  const key = address.searchParams.get("key");
  if (key) {
    keepPreference("key", key);
    address.searchParams.delete("key");
    history.replaceState(null, "", address);
  }
  return key || readPreference("key") || "";
}

function serverStore(key) {
  const responses = new Map();

  async function request(what, body) {
    const headers = { "content-type": "application/json", [KEY_HEADER]: key };
    const options = { method: "POST", headers, body: toJson(body) };
    const response = await fetch(`api/${what}`, options).catch(() => {
      throw new Error("The server does not respond. Is `openapi-tools browse` still running?");
    });
    const value = await response.json();
    if (!response.ok) throw new Error(value.error || `The status is ${response.status}.`);
    return value;
  }

  /** Return the response to a request that has the same one each time. */
  function requestOnce(what, body) {
    const name = toJson([what, body]);
    if (!responses.has(name)) {
      const response = request(what, body);
      responses.set(name, response);
      response.catch(() => responses.delete(name));
    }
    return responses.get(name);
  }

  return {
    canExecute: true,
    index: () => requestOnce("index", {}),
    costs: (profile) => requestOnce("costs", { profile }),
    needs: () => requestOnce("needs", {}),
    words: () => requestOnce("words", {}),
    tool: (name) => requestOnce("tool", { name }),
    preview: (name, values) => request("preview", { name, arguments: values }),
    execute: (name, values, approved) => request("execute", { name, arguments: values, approved }),
  };
}

/** Return a store of the data in the file; values that occur repeatedly are in its pool. */
function fileStore(data) {
  const { pool } = data;

  function restore(node) {
    if (typeof node === "string" && node.startsWith(POOL_MARK)) {
      const rest = node.slice(1);
      return rest.startsWith(POOL_MARK) ? rest : restore(pool[Number(rest)]);
    }
    if (Array.isArray(node)) return node.map(restore);
    return isObject(node) ? restoreObject(node) : node;
  }

  function restoreObject(node) {
    return Object.fromEntries(Object.entries(node).map(([key, part]) => [key, restore(part)]));
  }

  /** Return a part of the data as it is stored; restoring all tools would take a second. */
  function storedPart(name) {
    const part = data[name];
    return typeof part === "string" ? pool[Number(part.slice(1))] : part;
  }

  return {
    canExecute: false,
    index: async () => restore(data.index),
    costs: async (profile) => restore(storedPart("costs")[profile]),
    needs: async () => restore(data.needs),
    words: async () => restore(data.words),
    tool: async (name) => restore(storedPart("tools")[name]),
  };
}
