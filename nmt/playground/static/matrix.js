// @ts-check
/** A matrix that is drawn often: once as a heat map, then only its colours and words change. */

import { best, heatMap } from "../../page/static/heat.js";

/** @typedef {{label: string}} Unit */

/** @param {HTMLElement} place */
export function matrixIn(place) {
  let labels = "";
  /** @param {Unit[]} source @param {Unit[]} target @param {number[][]} weights */
  return function draw(source, target, weights) {
    const now = JSON.stringify([source, target, place.clientWidth]);
    const svg = place.querySelector("svg");
    if (now !== labels || !svg) {
      labels = now;
      return heatMap(place, { source, target, matrix: weights, most: 26 });
    }
    const [cells, titles] = [svg.querySelectorAll(".cell"), svg.querySelectorAll("title")];
    weights.flat().forEach((weight, i) => {
      const [title, words] = [titles[i].textContent ?? "", weight.toFixed(3)];
      if (title.endsWith(words)) return;
      titles[i].textContent = title.slice(0, title.lastIndexOf(":") + 2) + words;
      cells[i].setAttribute("fill-opacity", String(weight ** 0.75));
    });
    const rows = weights.map((row, t) => `${target[t].label}: ${best(row, source)}`);
    svg.setAttribute("aria-label", `Heat map. ${rows.join("; ")}`);
  };
}
