// @ts-check
/** The page: settings, models, and what happens in them. */

import { chart } from "../../page/static/chart.js";
import { element, keepingFocus } from "../../page/static/elements.js";
import { themes } from "../../page/static/theme_button.js";
import { controls } from "./controls.js";
import { dataOf } from "./engine/data.js";
import { EXPERIMENTS } from "./experiments.js";
import { modelView } from "./model_view.js";
import { COMMON, fromHash, toHash } from "./settings.js";

/** @import { Data } from "./engine/data.js" */
/** @import { Chosen, Kind } from "./settings.js" */

const AHEAD = 20; // updates by which one model may be ahead of the other
const REDRAWN_MS = 120; // drawing more often would take time from training
const SECOND = { wiring: "none", score: "additive", scope: "global" };
const at = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const [play, moment, example] = [at("play"), at("moment"), at("example")];
const [slider, examples] = [/** @type {HTMLInputElement} */ (moment), /** @type {HTMLSelectElement} */ (example)];

const pairs = /** @type {HTMLTextAreaElement} */ (at("pairs"));

/** @type {Chosen} */
let chosen = fromHash(location.hash);
/** @type {Data} */
let data;
/** @type {ReturnType<typeof modelView>[]} */
let models = [];
let playing = false;
let goal = 0; // the updates that all models may do while nothing plays
let follows = true; // whether the slider stays at the last moment
let drawing = false;

const last = () => Math.max(0, ...models.map(({ updates }) => updates()));

const counted = (/** @type {number} */ updates) => `${updates} update${updates === 1 ? "" : "s"}`;

/** Models anew, with these settings. The pairs are captions until others are given. @param {Chosen} settings */
function choose(settings) {
  setPlaying(false);
  const own = settings.task === "pairs";
  at("own").hidden = !own;
  if (own && !pairs.value) return void captions(settings);
  let next;
  try {
    next = dataOf(settings.task, settings.seed, pairs.value);
  } catch (error) {
    at("status").textContent = error instanceof Error ? error.message : String(error);
    return;
  }
  const same = settings.task === chosen.task && data && !own;
  chosen = settings;
  if (toHash(fromHash(location.hash)) !== toHash(chosen)) history.replaceState(null, "", toHash(chosen));
  const change = (/** @type {string} */ name, /** @type {string} */ value) =>
    keepingFocus(() => choose(fromHash(toHash({ ...chosen, [name]: value }))));
  at("common").replaceChildren(controls("all", COMMON, chosen, change));
  at("other").hidden = chosen.models.length > 1;
  data = next;
  if (!same) {
    const text = (/** @type {number} */ i) => data.held[i].source.join(data.joined).replaceAll("␣", " ");
    const longest = [...data.held.keys()].sort((a, b) => data.held[b].source.length - data.held[a].source.length);
    examples.replaceChildren(...longest.map((i) => new Option(text(i), String(i))));
  }
  restart();
}

function restart() {
  for (const model of models) model.close();
  goal = 0;
  follows = true;
  models = chosen.models.map((_, i) =>
    modelView(chosen, i, (kind) => keepingFocus(() => replace(i, kind)), hear, pairs.value),
  );
  at("models").replaceChildren(...models.map(({ place }) => place));
  for (const model of models) model.start(Number(examples.value || 0));
  at("status").textContent = "";
  draw();
}

/** @param {Chosen} settings */
async function captions(settings) {
  const answer = await fetch("playground/captions.tsv").catch(() => null);
  if (!answer?.ok) return void (at("status").textContent = "The captions cannot be loaded: paste pairs of your own.");
  pairs.value = await answer.text();
  choose(settings);
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
  setTimeout(() => {
    drawing = false;
    draw();
  }, REDRAWN_MS);
}

function draw() {
  const most = last();
  slider.max = String(most);
  if (follows) slider.value = String(most);
  const update = Number(slider.value);
  at("updates").textContent = `${counted(most)} of 32 pairs`;
  at("shown").textContent = `after ${counted(update)}`;
  const pair = data.held[Number(examples.value || 0)];
  at("reference").textContent = `→ ${pair.target.join(data.joined)}`;
  for (const model of models) model.draw(update, pair, data.joined);
  const series = models.map(({ name, losses }, colour) => ({ name, colour, points: curve(losses) }));
  at("loss").replaceChildren(
    chart({ title: "Loss per token, in nats", x: "updates", series, zero: true }),
    ...(models.length > 1 ? [legend(series.map(({ name }) => name))] : []),
  );
}

/** A line of at most 200 points, each the mean of its losses. @param {{update: number, loss: number}[]} losses */
function curve(losses) {
  const size = Math.ceil(losses.length / 200) || 1;
  const points = [];
  for (let i = 0; i < losses.length; i += size) {
    const part = losses.slice(i, i + size);
    points.push({ x: part[part.length - 1].update, y: part.reduce((sum, { loss }) => sum + loss, 0) / part.length });
  }
  return points;
}

/** @param {string[]} names */
function legend(names) {
  const place = element("p", "hint");
  names.forEach((name, i) => {
    const swatch = element("span", `swatch series-${i}`);
    place.append(swatch, ` ${name}  `);
  });
  return place;
}

play.addEventListener("click", () => setPlaying(!playing));
at("step").addEventListener("click", () => {
  setPlaying(false);
  goal = last() + 1;
  allow();
});
at("restart").addEventListener("click", () => {
  setPlaying(false);
  restart();
});
at("other").addEventListener("click", () => choose({ ...chosen, models: [...chosen.models, SECOND] }));
at("use").addEventListener("click", () => choose(chosen));
slider.addEventListener("input", () => {
  follows = Number(slider.value) === Number(slider.max);
  draw();
});
examples.addEventListener("change", () => {
  for (const model of models) model.show(Number(examples.value));
});
addEventListener("hashchange", () => {
  if (toHash(fromHash(location.hash)) === toHash(chosen)) return;
  choose(fromHash(location.hash));
});
for (const { title, hash, says } of EXPERIMENTS) {
  const item = element("li");
  const link = /** @type {HTMLAnchorElement} */ (element("a", "", title));
  link.href = `#${hash}`;
  item.append(link, element("p", "", says));
  at("experiments").append(item);
}
themes();
choose(chosen);
if ("serviceWorker" in navigator && isSecureContext) navigator.serviceWorker.register("offline.js").catch(() => {});
