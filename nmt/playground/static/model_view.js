// @ts-check
/** One model on the page: its controls, its thread, its matrix, what it writes, how often it is right. */

import { element, scrolling } from "../../page/static/elements.js";
import { heatMap } from "../../page/static/heat.js";
import { controls } from "./controls.js";
import { mechanismOf, nameOf, OWN } from "./settings.js";

/** @import { Accuracy, Loss, News, Order, Snapshot } from "./engine/worker.js" */
/** @import { Pair } from "./engine/tasks.js" */
/** @import { Chosen, Kind } from "./settings.js" */
/** @typedef {ReturnType<typeof modelView>} ModelView */

const MOST = 300; // snapshots kept: beyond, every second one goes
const NO_WORKER = "This browser cannot train here: it runs no modules in workers, or a file of the page is missing.";

/** The model of a place in `chosen`. @param {Chosen} chosen @param {number} index
 * @param {(kind: Kind | null) => void} change null removes the model
 * @param {(error: string) => void} hear is called after all news
 * @param {string} text own pairs */
export function modelView(chosen, index, change, hear, text) {
  const kind = chosen.models[index];
  const { place, matrix, written, exact } = parts(chosen, index, change);
  /** @type {Loss[]} */
  const losses = [];
  /** @type {Snapshot[]} */
  let snapshots = [];
  const worker = new Worker(new URL("engine/worker.js", import.meta.url), { type: "module" });
  const send = (/** @type {Order} */ order) => worker.postMessage(order);
  worker.addEventListener("error", () => hear(NO_WORKER));
  worker.addEventListener("message", (/** @type {MessageEvent<News>} */ { data: news }) => {
    losses.push(...news.losses);
    snapshots.push(...news.snapshots);
    if (snapshots.length > MOST) snapshots = snapshots.filter((_, i) => i % 2 === 0 || i === snapshots.length - 1);
    if (news.accuracies.length) exact.replaceChildren(...accuracy(news.accuracies[news.accuracies.length - 1]));
    hear(news.error ?? "");
  });
  return {
    ...{ place, name: nameOf(kind), losses },
    updates: () => losses.length,
    close: () => worker.terminate(),
    /** @param {number} example */
    start(example) {
      const { task, seed, rate, forcing } = chosen;
      send({ kind: "start", task, text, seed, rate, forcing, mechanism: mechanismOf(chosen, kind), example });
    },
    /** @param {number} update */
    until: (update) => send({ kind: "until", update }),
    /** @param {number} example */
    show(example) {
      snapshots = [];
      send({ kind: "example", example });
    },
    /** The matrix and the text of the last moment up to an update. @param {number} update @param {Pair} pair
     * @param {string} joined */
    draw(update, pair, joined) {
      const shown = snapshots.findLast((one) => one.update <= update) ?? snapshots[0];
      if (!shown) return;
      written.textContent = shown.written || "(nothing)";
      written.classList.toggle("right", shown.written === pair.target.join(joined));
      if (!shown.weights) return matrix.replaceChildren(element("p", "empty", "No attention: there is no matrix."));
      const units = (/** @type {string[]} */ tokens) => [...tokens, "(end)"].map((label) => ({ label }));
      heatMap(matrix, { source: units(pair.source), target: units(pair.target), matrix: shown.weights, most: 26 });
    },
  };
}

/** The elements. @param {Chosen} chosen @param {number} index @param {(kind: Kind | null) => void} change */
function parts(chosen, index, change) {
  const kind = chosen.models[index];
  const place = element("section", "ask");
  place.setAttribute("aria-label", `Model ${index + 1}`);
  const head = element("div", "said-head");
  head.append(element("h2", "", nameOf(kind)));
  if (chosen.models.length > 1) {
    const remove = element("button", "quiet", "Remove");
    remove.addEventListener("click", () => change(null));
    head.append(remove);
  }
  const own = kind.wiring === "none" ? OWN.slice(0, 1) : OWN;
  const settings = controls(`model-${index}`, own, kind, (name, value) => change({ ...kind, [name]: value }));
  const [matrix, written, exact] = [
    scrolling(`Attention of model ${index + 1}`),
    element("p", "written"),
    element("div"),
  ];
  place.append(head, settings, matrix, element("p", "hint", "Output"), written, exact);
  return { place, matrix, written, exact };
}

/** @param {Accuracy} measured */
function accuracy({ update, pairs: all, exact, ranges }) {
  const percent = (/** @type {number} */ share) => `${Math.round(100 * share)} %`;
  const table = element("table");
  for (const { low, high, pairs, right } of ranges) {
    const row = element("tr");
    const meter = document.createElement("meter");
    meter.value = right / pairs;
    const name = `${low === high ? low : `${low} to ${high}`} tokens`;
    meter.setAttribute("aria-label", name);
    const cell = element("td");
    cell.append(meter);
    row.append(element("th", "", name), cell, element("td", "number", percent(right / pairs)));
    table.append(row);
  }
  const sum = `Exact matches after ${update} updates: ${percent(exact)} of ${all} held-out examples`;
  return [element("p", "exact", sum), table];
}
