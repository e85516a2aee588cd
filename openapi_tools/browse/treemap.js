// Rectangles whose areas are proportional to numbers, as square as they can be.
// The algorithm: Bruls, Huizing, van Wijk, "Squarified Treemaps" (2000).
"use strict";

/** Return a rectangle for each value, in shares of a whole of this width and height. */
function layOutTreemap(values, width, height) {
  const total = values.reduce((sum, value) => sum + value, 0) || 1;
  const areas = values.map((value) => (value / total) * width * height);
  const rectangles = [];
  let free = { x: 0, y: 0, width, height };
  let at = 0;
  while (at < areas.length) {
    const side = Math.min(free.width, free.height);
    const size = rowLength(areas, at, side);
    free = placeRow(areas.slice(at, at + size), free, rectangles);
    at += size;
  }
  return rectangles.map((each) => ({ x: each.x / width, y: each.y / height,
    width: each.width / width, height: each.height / height }));
}

/** Return how many areas make a row along a side: one more would make them less square. */
function rowLength(areas, at, side) {
  let length = 1;
  let sum = areas[at];
  let worst = worstRatio(areas[at], areas[at], sum, side);
  while (at + length < areas.length) {
    const next = areas[at + length]; // the areas are sorted: it is the smallest one
    const ratio = worstRatio(areas[at], next, sum + next, side);
    if (ratio > worst) break;
    worst = ratio;
    sum += next;
    length += 1;
  }
  return length;
}

function worstRatio(largest, smallest, sum, side) {
  const square = side * side;
  return Math.max((square * largest) / (sum * sum), (sum * sum) / (square * (smallest || 1e-9)));
}

/** Place a row along the shorter side, and return the rectangle that stays free. */
function placeRow(row, free, rectangles) {
  const sum = row.reduce((total, area) => total + area, 0);
  const isWide = free.width >= free.height;
  const thickness = sum / (isWide ? free.height : free.width) || 0;
  let offset = 0;
  for (const area of row) {
    const length = area / thickness || 0;
    rectangles.push(isWide
      ? { x: free.x, y: free.y + offset, width: thickness, height: length }
      : { x: free.x + offset, y: free.y, width: length, height: thickness });
    offset += length;
  }
  return isWide
    ? { ...free, x: free.x + thickness, width: free.width - thickness }
    : { ...free, y: free.y + thickness, height: free.height - thickness };
}
