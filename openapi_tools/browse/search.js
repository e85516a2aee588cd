// Which tools match the words of a search, the best ones first.
"use strict";

const WHOLE_NAME = 100;

/** Return what is searched of a tool, in lower case, with its place in the document. */
function searchEntry(tool, at) {
  return {
    tool,
    at,
    name: tool.name.toLowerCase(),
    path: `${tool.method} ${tool.path}`.toLowerCase(),
    summary: tool.summary.toLowerCase(),
    tags: tool.tags.join(" ").toLowerCase(),
  };
}

/** Return the entries that have every word; `_` parts words as spaces do. */
function findEntries(entries, query, safety) {
  const text = query.toLowerCase().trim();
  const words = text.split(/[\s_]+/).filter(Boolean);
  const hits = [];
  for (const entry of entries) {
    if (safety && entry.tool.safety !== safety) continue;
    const score = scoreEntry(entry, words, text);
    if (score !== null) hits.push({ entry, score });
  }
  if (words.length) hits.sort((one, other) => other.score - one.score);
  return hits.map(({ entry }) => entry);
}

/** Return how well an entry matches all words; null where it does not have one of them. */
function scoreEntry(entry, words, text) {
  let score = text && entry.name.startsWith(text) ? WHOLE_NAME : 0;
  for (const word of words) {
    const wordScore = scoreWord(entry, word);
    if (!wordScore) return null;
    score += wordScore;
  }
  return score;
}

function scoreWord(entry, word) {
  if (entry.name.startsWith(word)) return 8;
  if (entry.name.includes(`_${word}`)) return 6;
  if (entry.name.includes(word)) return 4;
  if (entry.path.includes(word)) return 3;
  if (entry.tags.includes(word)) return 2;
  return entry.summary.includes(word) ? 1 : 0;
}
