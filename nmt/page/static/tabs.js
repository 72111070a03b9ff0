// @ts-check
/** The views' tabs, among which the arrow keys lead. */

import { element } from "./elements.js";

/** @param {HTMLElement} place @param {Record<string, string>} views the name of each @param {() => string} current
 * @param {(view: string) => void} choose */
export function makeTabs(place, views, current, choose) {
  for (const [view, name] of Object.entries(views)) {
    const tab = /** @type {HTMLButtonElement} */ (element("button", "", name));
    tab.id = `tab-${view}`;
    tab.type = "button";
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", "panel");
    tab.addEventListener("click", () => view === current() || choose(view));
    place.append(tab);
  }
  place.addEventListener("keydown", (event) => {
    const names = Object.keys(views).filter((view) => !document.getElementById(`tab-${view}`)?.hidden);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const view = names[(names.indexOf(current()) + step + names.length) % names.length];
    choose(view);
    document.getElementById(`tab-${view}`)?.focus();
  });
}

/** Show which one is chosen. @param {HTMLElement} place @param {string} view */
export function markTab(place, view) {
  for (const tab of /** @type {NodeListOf<HTMLElement>} */ (place.querySelectorAll("[role=tab]"))) {
    const chosen = tab.id === `tab-${view}`;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
  }
}
