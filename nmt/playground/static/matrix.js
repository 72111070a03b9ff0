// @ts-check
/** A matrix that is drawn often: a heat map's labels and grid, and under them a canvas with one pixel per cell.
 *
 * The heat map's own cells are not shown. They have the weights in words, for whoever points at one or does not see it.
 */

import { element } from "../../page/static/elements.js";
import { best, heatMap } from "../../page/static/heat.js";

/** @typedef {{label: string}} Unit */
/** @typedef {Float32Array} Weights T × S of them, row after row */

/** @param {HTMLElement} place */
export function matrixIn(place) {
  const canvas = /** @type {HTMLCanvasElement} */ (element("canvas"));
  canvas.setAttribute("aria-hidden", "true");
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  let [labels, colour, columns] = ["", "", 0];

  /** Labels, anew if they or the room for them have changed. @param {Unit[]} source @param {Unit[]} target @param {Weights} weights */
  function frame(source, target, weights) {
    const now = JSON.stringify([source, target, place.clientWidth]);
    if (now === labels && canvas.parentElement) return;
    labels = now;
    columns = source.length;
    const { left, top, cell } = heatMap(place, { source, target, matrix: rowsOf(weights, columns), most: 26 });
    const [width, height] = [columns, target.length];
    const box = { left, top, width: cell * width, height: cell * height };
    for (const [name, size] of Object.entries(box)) canvas.style.setProperty(name, `${size}px`);
    Object.assign(canvas, { width, height });
    place.prepend(canvas);
    colour = "";
  }

  /** The cells, in the page's colour at the last description. @param {Weights} weights */
  function paint(weights) {
    colour ||= getComputedStyle(/** @type {Element} */ (place.querySelector(".cell"))).fill;
    const [red, green, blue] = (colour.match(/[\d.]+/g) ?? []).map(Number);
    const image = new ImageData(columns, weights.length / columns);
    weights.forEach((weight, i) => image.data.set([red, green, blue, 255 * weight ** 0.75], 4 * i));
    context.putImageData(image, 0, 0);
  }

  /** The weights in words. @param {Unit[]} source @param {Unit[]} target @param {Weights} weights */
  function describe(source, target, weights) {
    colour = "";
    const svg = /** @type {Element} */ (place.querySelector("svg"));
    const [cells, titles] = [svg.querySelectorAll(".cell"), svg.querySelectorAll("title")];
    weights.forEach((weight, i) => {
      const [title, words] = [titles[i].textContent ?? "", weight.toFixed(3)];
      if (title.endsWith(words)) return;
      titles[i].textContent = title.slice(0, title.lastIndexOf(":") + 2) + words;
      cells[i].setAttribute("fill-opacity", String(weight ** 0.75));
    });
    const rows = rowsOf(weights, columns).map((row, t) => `${target[t].label}: ${best(row, source)}`);
    svg.setAttribute("aria-label", `Heat map. ${rows.join("; ")}`);
  }
  return { frame, paint, describe };
}

/** @param {Weights} weights @param {number} columns */
const rowsOf = (weights, columns) =>
  Array.from({ length: weights.length / columns }, (_, t) => [...weights.subarray(t * columns, (t + 1) * columns)]);
