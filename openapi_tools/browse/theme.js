// The colours: those of the system, or the ones chosen here. It runs before the page is displayed.
"use strict";

const THEMES = ["system", "light", "dark"];

/** Return a value that the browser kept for this page; null where it keeps nothing. */
function readPreference(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // files have no storage in some browsers
  }
}

function keepPreference(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // The choice lasts as long as the page.
  }
}

function currentTheme() {
  return document.documentElement.dataset.theme || "system";
}

function applyTheme(theme) {
  document.documentElement.dataset.theme = THEMES.includes(theme) ? theme : "system";
}

function chooseNextTheme() {
  const theme = THEMES[(THEMES.indexOf(currentTheme()) + 1) % THEMES.length];
  applyTheme(theme);
  keepPreference("theme", theme);
  return theme;
}

applyTheme(readPreference("theme"));
