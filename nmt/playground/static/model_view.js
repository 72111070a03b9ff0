// @ts-check
/** One model on the page: its controls, its thread, its matrix, what it writes, how often it is right. */

import { element, scrolling } from "../../page/static/elements.js";
import { inWords, marked, RIGHT } from "./compare.js";
import { controls } from "./controls.js";
import { SPACE } from "./engine/tasks.js";
import { open, save } from "./files.js";
import { makeCurve, remember } from "./history.js";
import { matrixIn } from "./matrix.js";
import { pictures, table } from "./report.js";
import { mechanismOf, nameOf, used } from "./settings.js";
import { term } from "./terms.js";

/** @import { Start } from "./engine/checkpoint.js" */
/** @import { Accuracy, News, Order, Snapshot } from "./engine/worker.js" */
/** @import { Pair } from "./engine/tasks.js" */
/** @import { Chosen, Kind } from "./settings.js" */
/** @typedef {ReturnType<typeof modelView>} ModelView */
/** @typedef {{name: string, start: Start}} Opened a checkpoint's file name, and what is in it */
/** @typedef {{change: (kind: Kind | null) => void, hear: (error: string) => void, open: (name: string, file: Uint8Array) => void}} Calls `change(null)` removes the model; `hear` is called after all news */

const NO_ATTENTION = "No attention, and no matrix: all that the decoder has of the input is one vector of fixed size.";
const NO_WORKER = "This browser cannot train here: it runs no modules in workers, or a file of the page is missing.";

/** Whether there is room for settings beside the matrix. */
export const isWide = () => matchMedia("(min-width: 48rem)").matches;
/** Whether the models' settings are shown, if anyone has chosen. @type {boolean | undefined} */
let unfolded;

/** The model of a place in `chosen`. @param {Chosen} chosen @param {number} index
 * @param {Calls} calls
 * @param {{text: string, languages: [string, string]}} pairs those of the task `pairs`
 * @param {Opened | null} opened where training begins */
export function modelView(chosen, index, calls, pairs, opened) {
  const { hear } = calls;
  const kind = chosen.models[index];
  const { place, matrix, output, exact, keep } = parts(chosen, index, calls, opened);
  const display = displayIn(matrix, output);
  const curves = { loss: makeCurve(), norm: makeCurve() };
  let updates = 0;
  let failure = ""; // why there is no model
  /** @type {Snapshot[]} */
  let snapshots = [];
  /** @type {Accuracy[]} */
  const accuracies = [];
  /** @type {Accuracy | null} */
  let counted = null; // that is shown
  let watched = 0; // the example whose snapshots are wanted
  const worker = new Worker(new URL("engine/worker.js", import.meta.url), {
    type: "module",
  });
  const send = (/** @type {Order} */ order) => worker.postMessage(order);
  keep.addEventListener("click", () => send({ kind: "save" }));
  worker.addEventListener("error", () => hear(NO_WORKER));
  worker.addEventListener("message", (/** @type {MessageEvent<News>} */ { data: news }) => {
    for (const { update, loss, norm } of news.losses) {
      curves.loss.add(update, loss);
      curves.norm.add(update, norm);
      updates = update;
    }
    for (const snapshot of news.snapshots) if (snapshot.example === watched) remember(snapshots, snapshot);
    if (news.file) save(`playground-${chosen.task}.safetensors`, news.file, "application/octet-stream");
    for (const accuracy of news.accuracies) remember(accuracies, accuracy);
    if (news.error && !snapshots.length) failure = news.error;
    hear(news.error ?? "");
  });
  return {
    ...{ place, name: nameOf(kind), curves },
    /** What a report says of it. */
    facts: () => [
      element("h2", "", nameOf(kind)),
      table(used(kind), kind),
      pictures(matrix),
      ...[output, exact].map((part) => /** @type {HTMLElement} */ (part.cloneNode(true))),
    ],
    updates: () => updates,
    failure: () => failure,
    close: () => worker.terminate(),
    /** @param {number} example */
    start(example) {
      watched = example;
      const { task, seed, rate, forcing } = chosen;
      const [mechanism, from] = [mechanismOf(chosen, kind), opened?.start ?? null];
      send({
        kind: "start",
        task,
        ...pairs,
        seed,
        rate,
        forcing,
        mechanism,
        example,
        from,
      });
    },
    /** @param {number} update */
    until: (update) => send({ kind: "until", update }),
    /** @param {number} example */
    show(example) {
      snapshots = [];
      watched = example;
      send({ kind: "example", example });
    },
    /** The matrix as it last was up to an update, and what is said of it, too.
     * @param {number} update @param {Pair} pair @param {string} joined @param {{words: boolean, weights: boolean}} say */
    draw(update, pair, joined, say) {
      const shown = snapshots.findLast((one) => one.update <= update) ?? snapshots[0];
      if (shown) display(shown, pair, joined, say);
      if (!say.words) return;
      const last = accuracies.findLast((one) => one.update <= update);
      if (!last || last === counted) return;
      counted = last;
      exact.replaceChildren(...accuracy(last));
    },
  };
}

/** Shows a snapshot. @param {HTMLElement} matrix @param {HTMLElement} output */
function displayIn(matrix, output) {
  const { frame, paint, describe } = matrixIn(matrix);
  const units = (/** @type {string[]} */ tokens) =>
    [...tokens, "(end)"].map((token) => ({ label: token === SPACE ? "␣" : token }));

  /** @param {Snapshot} shown @param {Pair} pair @param {string} joined @param {{words: boolean, weights: boolean}} say */
  return function display({ weights, written: tokens }, pair, joined, say) {
    if (weights) {
      const [source, target] = [units(pair.source), units(pair.target)];
      frame(source, target, weights);
      if (say.weights) describe(source, target, weights);
      paint(weights);
    } else if (!matrix.childElementCount) matrix.append(element("p", "empty", NO_ATTENTION));
    if (say.words) output.replaceChildren(...compared(tokens, pair.target, joined));
  };
}

/** What is written, what of it is wrong, and its reference. @param {string[]} tokens @param {string[]} reference @param {string} joined */
function compared(tokens, reference, joined) {
  const all = marked(tokens, reference);
  const verdict = inWords(all, joined ? "word" : "letter");
  const written = element("p", verdict === RIGHT ? "written right" : "written");
  all.forEach(({ token, is }, i) => {
    if (i) written.append(joined);
    written.append(is === "right" ? token : element("mark", is, is === "missing" ? "_" : token));
  });
  if (!all.length) written.append("(nothing)");
  return [
    element("p", "hint", `Output: ${verdict}`),
    written,
    element("p", "hint", "Reference"),
    element("p", "written", reference.join(joined)),
  ];
}

/** The elements. @param {Chosen} chosen @param {number} index @param {Calls} calls @param {Opened | null} opened */
function parts(chosen, index, calls, opened) {
  const { change } = calls;
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
  const settings = controls(`model-${index}`, used(kind), kind, (name, value) => change({ ...kind, [name]: value }));
  const [matrix, output, exact] = [scrolling(`Attention of model ${index + 1}`), element("div"), element("div")];
  const [keep, ask] = [element("button", "quiet", "Save checkpoint"), element("button", "quiet", "Open a checkpoint")];
  ask.addEventListener("click", () => open(".safetensors", calls.open));
  const files = element("div", "player");
  files.append(keep, ask);
  const begin = element("p", "hint", opened ? `Training began with the weights of ${opened.name}.` : "");
  const [results, figures] = [element("div", "halves"), element("div")];
  const meanings = element("p", "hint", "What is counted: ");
  meanings.append(term("exact match", "exact matches"), ", ", term("held-out"), " examples");
  if (chosen.task === "pairs") meanings.append(", ", term("BLEU"));
  figures.append(output, exact, meanings);
  results.append(matrix, figures);
  const fold = /** @type {HTMLDetailsElement} */ (element("details"));
  fold.open = unfolded ?? isWide();
  fold.addEventListener("toggle", () => (unfolded = fold.open));
  fold.append(element("summary", "", "Settings of this model"), settings, files);
  place.append(head, begin, results, fold);
  return { place, matrix, output, exact, keep };
}

/** @param {Accuracy} measured */
function accuracy({ update, pairs: all, exact, bleu, ranges }) {
  const percent = (/** @type {number} */ share) => `${Math.round(100 * share)} %`;
  const rounded = (/** @type {number | null} */ score) => (score === null ? [] : [`BLEU ${score.toFixed(1)}`]);
  const table = element("table");
  for (const { low, high, pairs, right, bleu: score } of ranges) {
    const row = element("tr");
    const meter = document.createElement("meter");
    meter.value = right / pairs;
    const name = `${low === high ? low : `${low} to ${high}`} tokens`;
    meter.setAttribute("aria-label", name);
    const cell = element("td");
    cell.append(meter);
    row.append(element("th", "", name), cell, element("td", "number", percent(right / pairs)));
    row.append(...rounded(score).map((text) => element("td", "number", text)));
    table.append(row);
  }
  const sum = `Exact matches after ${update} updates: ${percent(exact)} of ${all} held-out examples`;
  return [element("p", "exact", [sum, ...rounded(bleu)].join(", ")), table];
}
