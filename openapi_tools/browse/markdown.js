// Markdown of descriptions as elements. HTML in it stays text; links lead to other sites only.
"use strict";

const MOST_MARKDOWN = 40_000; // characters; the rest is cut, with a mark
const DEEPEST_MARKDOWN = 6;
// Bounds on what one mark may enclose: without them, many open marks would be quadratic.
const LONGEST_LABEL = 600;
const LONGEST_URL = 2000;
const SHORT_LINE = 56; // characters; a shorter line with a sentence's end was ended on purpose
const SAFE_SCHEMES = ["https:", "http:", "mailto:"];

/** Return a description as block elements inside one element. */
function markdownBlock(text, className = "prose") {
  const isCut = text.length > MOST_MARKDOWN;
  const lines = (isCut ? `${text.slice(0, MOST_MARKDOWN)}…` : text).split(/\r\n|\r|\n/);
  return el("div", { class: className, dir: "auto" }, blocksOf(lines, 0));
}

/** Return one line of Markdown as inline elements inside one element. */
function markdownLine(text, tag = "span", className = null) {
  return el(tag, { class: className, dir: "auto" },
    inlinesOf(text.slice(0, MOST_MARKDOWN).replaceAll(/\s*\n\s*/g, " "), 0));
}

const FOLDED_FROM = 1400; // characters

/** Return a description of which only the beginning is displayed, with a button for the rest. */
function foldedProse(text) {
  const block = markdownBlock(text);
  if (text.length < FOLDED_FROM) return block;
  block.classList.add("folded");
  const button = el("button", { type: "button", class: "small unfold", "aria-expanded": "false",
    click() {
      const isFolded = block.classList.toggle("folded");
      button.setAttribute("aria-expanded", String(!isFolded));
      button.textContent = isFolded ? "Show all" : "Show less";
    } }, "Show all");
  return el("div", {}, block, button);
}

function blocksOf(lines, depth) {
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (!lines[at].trim()) {
      at += 1;
      continue;
    }
    const [block, next] = depth < DEEPEST_MARKDOWN
      ? readBlock(lines, at, depth) : readParagraph(lines, at);
    blocks.push(block);
    at = next;
  }
  return blocks;
}

/** Return the block that begins at a line, and the line after it. */
function readBlock(lines, at, depth) {
  const line = lines[at];
  const heading = /^ {0,3}(#{1,6})\s+(.*)$/.exec(line);
  if (heading) return [headingOf(heading[2]), at + 1];
  if (fenceOf(line)) return readFence(lines, at);
  if (/^ {0,3}([-*_])(?:\s*\1){2,}\s*$/.test(line)) return [el("hr"), at + 1];
  if (line.trimStart().startsWith(">")) return readQuote(lines, at, depth);
  if (listMark(line)) return readList(lines, at, depth);
  if (isTable(lines, at)) return readTable(lines, at);
  return readParagraph(lines, at);
}

/** Return a heading as text: its level would not fit the page's own ones. */
function headingOf(text) {
  return el("p", { class: "heading" }, inlinesOf(text.replace(/\s#+\s*$/, ""), 0));
}

function fenceOf(line) {
  const match = /^\s{0,3}(`{3,}|~{3,})/.exec(line);
  return match ? match[1] : "";
}

function readFence(lines, at) {
  const fence = fenceOf(lines[at]);
  let end = at + 1;
  while (end < lines.length && !lines[end].trimStart().startsWith(fence)) end += 1;
  return [el("pre", { tabindex: "0" }, lines.slice(at + 1, end).join("\n")), end + 1];
}

const ALERT = /^\[!(\w+)\]\s*$/;

function readQuote(lines, at, depth) {
  let end = at;
  while (end < lines.length && lines[end].trimStart().startsWith(">")) end += 1;
  const inner = lines.slice(at, end).map((line) => line.trimStart().replace(/^> ?/, ""));
  const alert = ALERT.exec(inner[0]);
  if (alert) inner[0] = `**${alert[1][0]}${alert[1].slice(1).toLowerCase()}**`;
  return [el("blockquote", {}, blocksOf(inner, depth + 1)), end];
}

/** Return the mark of a list's item: its indentation, width, and number if it is ordered. */
function listMark(line) {
  const match = /^(\s*)([-*+]|(\d{1,9})[.)])(\s+)(?=\S)/.exec(line);
  if (!match) return null;
  return { indent: match[1].length, width: match[0].length, number: match[3] };
}

function readList(lines, at, depth) {
  const first = listMark(lines[at]);
  const items = [];
  let next = at;
  while (next < lines.length) {
    const mark = listMark(lines[next]);
    const isNext = mark && mark.indent <= first.indent
      && Boolean(mark.number) === Boolean(first.number);
    if (!isNext) break;
    const item = [lines[next].slice(mark.width)];
    next += 1;
    while (next < lines.length && continuesItem(lines, next, first.indent)) {
      item.push(lines[next].slice(Math.min(mark.width, indentOf(lines[next]))));
      next += 1;
    }
    items.push(el("li", {}, unwrapSingle(blocksOf(item, depth + 1))));
  }
  const isOrdered = Boolean(first.number);
  const start = isOrdered && first.number !== "1" ? first.number : null;
  return [el(isOrdered ? "ol" : "ul", { start }, items), next];
}

function indentOf(line) {
  return line.length - line.trimStart().length;
}

/** Return whether a line belongs to an item: it is deeper, or an empty line before such a line. */
function continuesItem(lines, at, indent) {
  if (!lines[at].trim()) return at + 1 < lines.length && indentOf(lines[at + 1]) > indent + 1;
  if (indentOf(lines[at]) > indent + 1) return true;
  return Boolean(lines[at - 1].trim()) && !listMark(lines[at]) && indentOf(lines[at]) > indent;
}

function unwrapSingle(blocks) {
  const isPlain = blocks[0] && blocks[0].tagName === "P";
  return isPlain ? [...blocks[0].childNodes, ...blocks.slice(1)] : blocks;
}

function isTable(lines, at) {
  const rule = lines[at + 1];
  return lines[at].includes("|") && rule !== undefined && rule.includes("-")
    && rule.includes("|") && /^[\s|:-]+$/.test(rule);
}

function readTable(lines, at) {
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|")) end += 1;
  const rows = [lines[at], ...lines.slice(at + 2, end)].map(cellsOf);
  const [head, ...body] = rows;
  return [el("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Table" },
    el("table", {},
      el("thead", {}, el("tr", {}, head.map((cell) => el("th", {}, inlinesOf(cell, 0))))),
      el("tbody", {}, body.map((row) =>
        el("tr", {}, row.map((cell) => el("td", {}, inlinesOf(cell, 0)))))))), end];
}

function cellsOf(line) {
  const bare = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return bare.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function readParagraph(lines, at) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !interruptsParagraph(lines, end)) end += 1;
  const parts = lines.slice(at, end).flatMap((line, index, all) => [
    ...inlinesOf(line.trim(), 0),
    index < all.length - 1 ? lineBreak(line) : null,
  ]);
  return [el("p", {}, parts), end];
}

function interruptsParagraph(lines, at) {
  const line = lines[at];
  const mark = listMark(line);
  return /^ {0,3}#{1,6}\s/.test(line) || Boolean(fenceOf(line)) || isTable(lines, at)
    || line.trimStart().startsWith(">") || Boolean(mark && (!mark.number || mark.number === "1"));
}

/** Return a break after a line that its author ended early, and a space after a wrapped line. */
function lineBreak(line) {
  const isEnded = line.length < SHORT_LINE && /[.:!?]$/.test(line);
  return isEnded || line.endsWith("  ") || line.endsWith("\\") ? el("br") : " ";
}
