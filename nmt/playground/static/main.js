// @ts-check
/** The page: settings, models, and what happens in them. */

import { chart } from "../../page/static/chart.js";
import { element, keepingFocus } from "../../page/static/elements.js";
import { themes } from "../../page/static/theme_button.js";
import { MOST, packed, unpacked } from "./address.js";
import { controls } from "./controls.js";
import { fromCheckpoint } from "./engine/checkpoint.js";
import { dataOf } from "./engine/data.js";
import { SPACE } from "./engine/tasks.js";
import { EXPERIMENTS, experiments } from "./experiments.js";
import { save } from "./files.js";
import { isWide, modelView } from "./model_view.js";
import { pictures, report } from "./report.js";
import { COMMON, fromHash, settingsOf, toHash, unknown } from "./settings.js";
import { explain, heldOut } from "./terms.js";

/** @import { Data } from "./engine/data.js" */
/** @import { Opened } from "./model_view.js" */
/** @import { Chosen, Kind } from "./settings.js" */

const AHEAD = 20; // updates by which one model may be ahead of the other
const FRAME_MS = 28; // from one drawing of the matrix to the next, at least
const [WORDS_MS, CURVES_MS] = [250, 1000]; // the same of what is dearer
const [SECOND] = fromHash("#model=none").models;
const at = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const [play, moment, example] = [at("play"), at("moment"), at("example")];
const [slider, examples] = [/** @type {HTMLInputElement} */ (moment), /** @type {HTMLSelectElement} */ (example)];

const pairs = /** @type {HTMLTextAreaElement} */ (at("pairs"));
const fold = (/** @type {string} */ id) => /** @type {HTMLDetailsElement} */ (at(id));

/** @type {Chosen} */
let chosen = fromHash(location.hash);
/** @type {Data} */
let data;
/** @type {ReturnType<typeof modelView>[]} */
let models = [];
/** By what the models' weights depend on. @type {Map<string, Opened>} */
const opened = new Map();
const keyOf = (/** @type {Chosen} */ { task, hidden, encoder, models }, /** @type {number} */ i) =>
  JSON.stringify([i, task, hidden, encoder, models[i]]);
/** The pairs by what the address has of them; those of "" are the captions. @type {Map<string, string>} */
const texts = new Map();
let playing = false;
let goal = 0; // the updates that all models may do while nothing plays
let follows = true; // whether the slider stays at the last moment
let drawing = false;
const drawn = { matrix: 0, words: 0, curves: 0 }; // when they were

const last = () => Math.max(0, ...models.map(({ updates }) => updates()));

const counted = (/** @type {number} */ updates) => `${updates} update${updates === 1 ? "" : "s"}`;

/** Models anew, with these settings. @param {Chosen} settings */
function choose(settings) {
  setPlaying(false);
  settings = { ...fromHash(toHash(settings)), pairs: settings.pairs }; // without what has no effect
  const own = settings.task === "pairs";
  const text = texts.get(settings.pairs);
  at("own").hidden = !own;
  if (own && text === undefined) return void load(settings);
  let next;
  try {
    next = dataOf(settings.task, settings.seed, text);
  } catch (error) {
    at("status").textContent = error instanceof Error ? error.message : String(error);
    return;
  }
  if (own) pairs.value = text ?? "";
  const same = settings.task === chosen.task && data && !own;
  chosen = settings;
  if (location.hash !== toHash(chosen)) history.replaceState(null, "", toHash(chosen));
  const change = (/** @type {string} */ name, /** @type {string} */ value) =>
    keepingFocus(() => choose(/** @type {any} */ ({ ...chosen, [name]: value })));
  at("task").replaceChildren(controls("all", COMMON.slice(0, 1), chosen, change));
  at("common").replaceChildren(controls("all", COMMON.slice(1), chosen, change));
  at("other").hidden = chosen.models.length > 1;
  const experiment = EXPERIMENTS.find(({ hash }) => toHash(fromHash(hash)) === toHash(chosen));
  at("experiment").hidden = !experiment;
  if (experiment) [at("title").textContent, at("says").textContent] = [experiment.title, experiment.says];
  data = next;
  at("held").textContent = own ? heldOut(data.held.length) : "";
  if (!same) {
    const text = (/** @type {number} */ i) => data.held[i].source.join(data.joined).replaceAll(SPACE, " ");
    const longest = [...data.held.keys()].sort((a, b) => data.held[b].source.length - data.held[a].source.length);
    examples.replaceChildren(...longest.map((i) => new Option(text(i), String(i))));
  }
  restart();
}

/** The settings of the page's address. */
function chooseAddress() {
  const ignored = unknown(location.hash);
  choose(fromHash(location.hash));
  if (ignored.length) at("status").textContent = `Ignored in the address, as unknown here: ${ignored.join(", ")}.`;
}

function restart() {
  for (const model of models) model.close();
  goal = 0;
  follows = true;
  const [source, target] = chosen.task === "pairs" && !chosen.pairs ? ["de", "en"] : ["xx", "xx"];
  /** @type {{text: string, languages: [string, string]}} */
  const own = { text: texts.get(chosen.pairs) ?? "", languages: [source, target] };
  models = chosen.models.map((_, i) => {
    const change = (/** @type {Kind | null} */ kind) => keepingFocus(() => replace(i, kind));
    const open = (/** @type {string} */ name, /** @type {Uint8Array} */ file) => goOnFrom(i, name, file);
    return modelView(chosen, i, { change, hear, open }, own, opened.get(keyOf(chosen, i)) ?? null);
  });
  at("models").replaceChildren(...models.map(({ place }) => place));
  at("legend").replaceChildren(...legend());
  for (const model of models) model.start(Number(examples.value || 0));
  at("status").textContent = "";
  draw();
}

/** The pairs, and then the models. @param {Chosen} settings */
async function load(settings) {
  try {
    if (settings.pairs) texts.set(settings.pairs, await unpacked(settings.pairs));
    else texts.set("", await (await fetch("playground/captions.tsv")).text());
  } catch {
    const what = settings.pairs ? "The pairs in the address" : "The captions";
    at("status").textContent = `${what} cannot be read: paste pairs of your own.`;
    return;
  }
  choose(settings);
}

async function usePairs() {
  const text = pairs.value;
  const code = text === texts.get("") ? "" : await packed(text);
  texts.set(code, text);
  choose({ ...chosen, task: "pairs", pairs: code });
  if (code.length > MOST && chosen.pairs === code)
    at("status").textContent = "The pairs are too long for the address: keep their text to use them again.";
}

/** A model takes the settings and the weights of a checkpoint. @param {number} index @param {string} name of its file
 * @param {Uint8Array} file */
function goOnFrom(index, name, file) {
  try {
    const { task, settings: found, start } = fromCheckpoint(file, settingsOf);
    const { kind, ...sizes } = found;
    const models = chosen.models.map((one, i) => (i === index ? kind : one));
    const settings = fromHash(toHash({ ...chosen, task: task ?? chosen.task, ...sizes, models }));
    opened.set(keyOf(settings, index), { name, start });
    choose(settings);
  } catch (error) {
    at("status").textContent = `${name}: ${error instanceof Error ? error.message : error}`;
  }
}

/** @param {number} index @param {Kind | null} kind */
function replace(index, kind) {
  const kinds = chosen.models.flatMap((one, i) => (i !== index ? [one] : kind ? [kind] : []));
  choose({ ...chosen, models: kinds });
}

/** @param {boolean} now */
function setPlaying(now) {
  playing = now;
  if (!playing) goal = last();
  play.textContent = playing ? "Pause" : "Train";
  allow();
}

/** Whether all models can train; if not, the page says why. */
function canTrain() {
  const failure = models.map((model) => model.failure()).find(Boolean);
  if (failure) at("status").textContent = failure;
  return !failure;
}

/** How many updates each model may do: it waits for the other one. */
function allow() {
  const least = Math.min(...models.map(({ updates }) => updates()));
  const most = !playing ? goal : models.length === 1 ? Number.MAX_SAFE_INTEGER : least + AHEAD;
  for (const model of models) model.until(most);
}

/** @param {string} error */
function hear(error) {
  if (error) {
    at("status").textContent = error;
    setPlaying(false);
  } else if (playing && models.length > 1) allow();
  if (drawing) return;
  drawing = true;
  setTimeout(
    () => {
      drawing = false;
      draw();
    },
    drawn.matrix + FRAME_MS - performance.now(),
  );
}

/** While a model trains, only what is due. */
function draw() {
  const now = (drawn.matrix = performance.now());
  const isDue = (/** @type {"words" | "curves"} */ what, /** @type {number} */ pause) =>
    (!playing || now >= drawn[what] + pause) && (drawn[what] = now) > 0;
  const [words, curves] = [isDue("words", WORDS_MS), isDue("curves", CURVES_MS)];
  const most = last();
  const update = follows ? most : Number(slider.value);
  const pair = data.held[Number(examples.value || 0)];
  for (const model of models) model.draw(update, pair, data.joined, { words, weights: curves });
  if (words) {
    slider.max = String(most);
    slider.value = String(update);
    at("updates").textContent = `${counted(most)}, 32 pairs each`;
    at("shown").textContent = `after ${counted(update)}`;
    at("reference").textContent = `→ ${pair.target.join(data.joined)}`;
  }
  if (curves)
    at("curves").replaceChildren(
      curveOf("Loss per token, in nats", "loss"),
      curveOf("Gradient norm, before it is limited to 1", "norm"),
    );
}

/** @param {string} title @param {"loss" | "norm"} of */
function curveOf(title, of) {
  const series = models.map(({ name, curves }, colour) => ({ name, colour, points: curves[of].points() }));
  return chart({ title, x: "updates", series, zero: true });
}

function legend() {
  if (models.length < 2) return [];
  return models.flatMap(({ name }, i) => [element("span", `swatch series-${i}`), ` ${name}  `]);
}

function saveReport() {
  setPlaying(false);
  draw();
  const pair = data.held[Number(examples.value || 0)];
  const facts = [
    `Made with ${location.href} on ${new Date().toLocaleDateString("en", { dateStyle: "long" })}.`,
    `${at("updates").textContent}. The matrices are those ${at("shown").textContent}, of the held-out example:`,
    `${pair.source.join(data.joined).replaceAll(SPACE, " ")} ${at("reference").textContent}`,
  ];
  if (models.length > 1) facts.push(`In the curves, ${models[0].name} is blue, and ${models[1].name} orange.`);
  const made = models.map((model) => model.facts());
  save(`playground-${chosen.task}.html`, report(chosen, facts, pictures(at("curves")), made), "text/html");
}

play.addEventListener("click", () => {
  if (!canTrain()) return;
  setPlaying(!playing);
  draw();
});
at("step").addEventListener("click", () => {
  if (!canTrain()) return;
  setPlaying(false);
  goal = last() + 1;
  allow();
});
at("restart").addEventListener("click", () => {
  setPlaying(false);
  restart();
});
at("other").addEventListener("click", () => choose({ ...chosen, models: [...chosen.models, SECOND] }));
at("use").addEventListener("click", usePairs);
at("report").addEventListener("click", saveReport);
for (const [id, isHeldOut] of /** @type {const} */ ([
  ["save-train", false],
  ["save-held", true],
]))
  at(id).addEventListener("click", () => {
    save(`${chosen.task}-${isHeldOut ? "held-out" : "train"}.tsv`, data.table(isHeldOut), "text/tab-separated-values");
  });
slider.addEventListener("input", () => {
  follows = Number(slider.value) === Number(slider.max);
  draw();
});
examples.addEventListener("change", () => {
  for (const model of models) model.show(Number(examples.value));
});
addEventListener("hashchange", () => {
  if (toHash(fromHash(location.hash)) === toHash(chosen)) return;
  chooseAddress();
});
at("experiments").append(
  ...experiments(() => {
    fold("guided").open = false;
    fold("experiment").open = true;
    examples.selectedIndex = 0; // the longest
  }),
);
explain(document.body);
fold("training").open = fold("experiment").open = isWide();
themes();
at("theme").addEventListener("click", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
chooseAddress();
if ("serviceWorker" in navigator && isSecureContext) navigator.serviceWorker.register("offline.js").catch(() => {});
