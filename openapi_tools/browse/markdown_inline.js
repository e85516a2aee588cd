// Inline Markdown: code, emphasis, links. One pass from left to right, each mark within a bound.
"use strict";

const MARKS = "\\`*_~[!<h";
const ESCAPABLE = "\\`*_{}[]()<>#+-.!|~";

/** Return a line's inline nodes. */
function inlinesOf(text, depth) {
  const nodes = [];
  let plain = "";
  let at = 0;
  while (at < text.length) {
    const inline = MARKS.includes(text[at]) ? readInline(text, at, depth) : null;
    if (inline) {
      nodes.push(plain, inline.node);
      plain = "";
      at = inline.end;
    } else {
      plain += text[at];
      at += 1;
    }
  }
  return [...nodes, plain].filter((node) => node !== "");
}

/** Return the node that begins at a mark, and the place after it; null where there is none. */
function readInline(text, at, depth) {
  const mark = text[at];
  if (mark === "\\") {
    const isEscape = at + 1 < text.length && ESCAPABLE.includes(text[at + 1]);
    return isEscape ? { node: text[at + 1], end: at + 2 } : null;
  }
  if (mark === "`") return readCode(text, at);
  if (depth >= DEEPEST_MARKDOWN) return null;
  if (mark === "[") return readLink(text, at, depth);
  if (mark === "!") return text[at + 1] === "[" ? readLink(text, at + 1, depth) : null;
  if (mark === "<") return readAngles(text, at);
  if (mark === "h") return readBareUrl(text, at);
  return readEmphasis(text, at, depth);
}

function readCode(text, at) {
  let size = 1;
  while (text[at + size] === "`") size += 1;
  const fence = "`".repeat(size);
  const end = text.slice(at + size, at + size + LONGEST_URL).indexOf(fence);
  if (end < 1) return { node: fence, end: at + size };
  const code = text.slice(at + size, at + size + end).replace(/^ (.+) $/, "$1");
  return { node: el("code", {}, code), end: at + 2 * size + end };
}

function readLink(text, at, depth) {
  const label = readEnclosed(text, at, "[", "]", LONGEST_LABEL);
  if (label === null || text[at + label.length + 2] !== "(") return null;
  const start = at + label.length + 2;
  const target = readEnclosed(text, start, "(", ")", LONGEST_URL);
  if (target === null) return null;
  const address = target.trim().split(/\s/, 1)[0].replace(/^<(.*)>$/, "$1");
  return { node: linkTo(address, inlinesOf(label, depth + 1), label),
    end: start + target.length + 2 };
}

/** Return what two brackets enclose, with balanced ones inside; null where they do not close. */
function readEnclosed(text, at, open, close, most) {
  let level = 0;
  for (let place = at; place < text.length && place < at + most; place += 1) {
    if (text[place] === "\\") place += 1;
    else if (text[place] === open) level += 1;
    else if (text[place] === close) level -= 1;
    if (level === 0) return text.slice(at + 1, place);
  }
  return null;
}

/** Return a link to another site; an address of another kind is text beside its label. */
function linkTo(address, label, text) {
  const url = safeUrl(address);
  if (!url) return el("span", { class: "no-link", title: `not a site: ${address}` }, label);
  const title = text === address ? null : address;
  return el("a", { href: url, title, rel: "noopener noreferrer", target: "_blank" }, label);
}

function safeUrl(address) {
  try {
    const url = new URL(address); // relative addresses would lead into this page
    return SAFE_SCHEMES.includes(url.protocol) ? url.href : "";
  } catch {
    return "";
  }
}

function readAngles(text, at) {
  const end = text.slice(at, at + LONGEST_URL).indexOf(">");
  if (end < 0) return null;
  const inner = text.slice(at + 1, at + end);
  if (/^br\s*\/?$/i.test(inner)) return { node: el("br"), end: at + end + 1 };
  const isUrl = /^[a-z][a-z0-9+.-]+:[^\s<>]+$/i.test(inner) && safeUrl(inner);
  return isUrl ? { node: linkTo(inner, inner, inner), end: at + end + 1 } : null;
}

function readBareUrl(text, at) {
  if (!text.startsWith("http", at) || /\w/.test(text[at - 1] || "")) return null;
  const match = /^https?:\/\/[^\s<>"'`|]+/.exec(text.slice(at, at + LONGEST_URL));
  if (!match) return null;
  const address = trimUrl(match[0]);
  return safeUrl(address)
    ? { node: linkTo(address, address, address), end: at + address.length } : null;
}

/** Return a URL without the punctuation of the sentence around it. */
function trimUrl(url) {
  let end = url.length;
  while (end && ".,:;!?*_~".includes(url[end - 1])) end -= 1;
  if (url[end - 1] === ")" && !url.slice(0, end).includes("(")) end -= 1;
  return url.slice(0, end);
}

const EMPHASIS = { "**": "strong", "__": "strong", "~~": "del", "*": "em", "_": "em" };

function readEmphasis(text, at, depth) {
  const mark = text[at + 1] === text[at] ? text[at] + text[at] : text[at];
  const start = at + mark.length;
  const isOpen = Object.hasOwn(EMPHASIS, mark) && /\S/.test(text[start] || "")
    && !(mark[0] === "_" && /\w/.test(text[at - 1] || ""));
  const end = isOpen ? findEmphasisEnd(text, start, mark) : -1;
  if (end < 0) return { node: mark, end: start };
  return { node: el(EMPHASIS[mark], {}, inlinesOf(text.slice(start, end), depth + 1)),
    end: end + mark.length };
}

function findEmphasisEnd(text, start, mark) {
  const limit = Math.min(text.length, start + LONGEST_LABEL);
  for (let at = start + 1; at < limit; at += 1) {
    if (!text.startsWith(mark, at) || /\s/.test(text[at - 1])) continue;
    if (mark.length === 1 && (text[at + 1] === mark || text[at - 1] === mark)) continue;
    if (mark[0] === "_" && /\w/.test(text[at + mark.length] || "")) continue;
    return at;
  }
  return -1;
}
