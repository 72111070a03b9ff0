// @ts-check
/** View 2: the decoding, step by step. */

import { isHeld } from "./api.js";
import { element, keepingFocus, note } from "./elements.js";
import { inLanguage } from "./languages.js";
import { partChoice, partOf, partsOf } from "./parts.js";
import { saveButtons } from "./save.js";
import { forcedOnto, replacedBy } from "./state.js";
import { readable } from "./tokens.js";

const d3 = /** @type {any} */ (globalThis).d3;
/** @type {number | undefined} */
let playing;

/** @param {HTMLElement} place @param {any} found @param {import("./state.js").State} state @param {any} actions */
export function showSteps(place, found, state, actions) {
  clearInterval(playing);
  playing = undefined;
  place.replaceChildren();
  const count = found.steps.length;
  if (!count) return note(place, "Type a sentence, and the steps of its translation appear here.");
  const player = element("div", "player");
  const back = button("◀ Back", () => go(at - 1));
  const play = button("Play", () => toggle());
  const next = button("Next ▶", () => go(at + 1));
  play.className = "";
  const slider = document.createElement("input");
  Object.assign(slider, { type: "range", min: "0", max: String(count - 1), step: "1" });
  slider.setAttribute("aria-label", "Step");
  slider.addEventListener("input", () => go(Number(slider.value)));
  const number = element("span", "number");
  player.append(back, play, next, slider, number);
  const body = element("div");
  const heads = partsOf(found).filter(([part]) => part === "" || Number(part));
  const head = partOf(heads, state.part);
  if (heads.length > 1) player.append(partChoice(heads, head, actions));
  player.append(saveButtons(() => body, "step"));
  place.append(player, body);
  let at = Math.min(state.step, count - 1);

  /** @param {number} step */
  function go(step) {
    at = Math.max(0, Math.min(count - 1, step));
    slider.value = String(at);
    back.ariaDisabled = String(at === 0); // the keyboard stays where it is
    next.ariaDisabled = String(at === count - 1);
    number.textContent = `step ${at + 1} of ${count}`;
    slider.setAttribute("aria-valuetext", `step ${at + 1}: ${readable(found.steps[at].token)}`);
    actions.remember({ step: at });
    step_(body, found, at, state, actions, Number(head));
    if (at === count - 1) stop();
  }
  function stop() {
    clearInterval(playing);
    playing = undefined;
    play.textContent = "Play";
  }
  function toggle() {
    if (playing !== undefined) return stop();
    if (at === count - 1) go(0);
    play.textContent = "Pause";
    playing = setInterval(() => (place.isConnected && body.isConnected ? go(at + 1) : stop()), 1100);
  }
  go(at);
}

/** @param {string} text @param {() => void} act */
function button(text, act) {
  const made = /** @type {HTMLButtonElement} */ (element("button", "quiet", text));
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

/** @param {HTMLElement} place @param {any} found @param {number} at @param {any} state @param {any} actions @param {number} head from 1; 0: all */
function step_(place, found, at, state, actions, head) {
  const step = found.steps[at];
  const sentence = element("p", "sentence");
  found.steps.forEach((/** @type {any} */ one, /** @type {number} */ i) => {
    sentence.append(element("span", i < at ? "" : i === at ? "now" : "later", readable(one.token)), " ");
  });
  const steps = element("div", "steps");
  const look = element("div");
  const next = element("div");
  steps.append(look, next);
  look.append(element("h3", "", "What the decoder asks, and what it reads"));
  look.append(strip("query", step.query));
  if (step.weights) look.append(readings(found, step, at, state, actions, head));
  look.append(strip("context", step.context));
  next.append(element("h3", "", "What could come next"));
  next.append(candidates(found, at, state, "next", (token) => actions.replace(at, token)));
  inLanguage(sentence, found.languages[1]);
  keepingFocus(() => place.replaceChildren(sentence, steps));
}

/** A vector as a row of coloured cells. @param {string} name @param {number[]} values */
function strip(name, values) {
  const box = element("div", "strip");
  const bins = Math.min(128, values.length);
  const size = values.length / bins;
  const means = d3
    .range(bins)
    .map((/** @type {number} */ i) => d3.mean(values.slice(Math.floor(i * size), Math.floor((i + 1) * size))));
  const most = d3.max(means, Math.abs) || 1;
  const svg = d3
    .create("svg")
    .attr("viewBox", `0 0 ${bins * 4} 18`)
    .attr("role", "img")
    .attr("preserveAspectRatio", "none")
    .attr(
      "aria-label",
      `${name}: a vector of ${values.length} numbers, from ${d3.min(values).toFixed(2)} to ${d3.max(values).toFixed(2)}`,
    );
  svg
    .selectAll("rect")
    .data(means)
    .join("rect")
    .attr("x", (/** @type {any} */ _, /** @type {number} */ i) => i * 4)
    .attr("width", 4)
    .attr("height", 18)
    .attr("class", (/** @type {number} */ v) => (v < 0 ? "centre" : "cell"))
    .attr("fill-opacity", (/** @type {number} */ v) => Math.abs(v) / most);
  box.append(element("span", "number", `${name}, ${values.length} numbers: blue above 0, orange below`), svg.node());
  return box;
}

/** A row for each source token: its score, its weight, its share of the context. Of several heads each has scores of its
 * own, and their mean has none. @param {any} found @param {any} step @param {number} at @param {any} state @param {any} actions @param {number} part a head from 1; 0: all */
function readings(found, step, at, state, actions, part) {
  const table = element("table");
  const head = element("tr");
  const scores = part || step.scores.length === 1 ? step.scores[Math.max(0, part - 1)] : null;
  const weights = part ? step.heads[part - 1] : step.weights;
  for (const name of ["source", ...(scores ? ["score"] : []), "weight", "", "of the context"])
    head.append(element(name ? "th" : "td", "", name));
  const covered = step.coverage !== null;
  if (covered) head.append(element("th", "", "attention so far"));
  table.append(head);
  const forced = state.forced.find((/** @type {number[]} */ [t]) => t === at);
  found.source.forEach((/** @type {any} */ token, /** @type {number} */ s) => {
    const row = element("tr", forced && forced[1] === s ? "forced" : "");
    const word = /** @type {HTMLButtonElement} */ (element("button", "word", token.label));
    word.type = "button";
    word.id = `source-${s}`;
    inLanguage(word, found.languages[0]);
    word.title = "Force all attention of this step here";
    word.setAttribute("aria-label", `${token.label}: force the attention of step ${at + 1} here`);
    word.disabled = !isHeld("/api/explain", { text: state.text, ...forcedOnto(state, at, s) });
    word.addEventListener("click", () => actions.force(at, s));
    const name = element("td");
    name.append(word);
    const bar = element("td");
    bar.append(meter(weights[s], `weight of ${token.label}`));
    row.append(
      name,
      ...(scores ? [element("td", "number", scores[s].toFixed(2))] : []),
      element("td", "number", weights[s].toFixed(3)),
      bar,
      element("td", "number", `${Math.round(100 * step.parts[s]) || 0} %`),
    );
    if (covered) {
      const before = element("td", "number", step.coverage[s].toFixed(2));
      before.append(meter(step.coverage[s], `attention so far: ${token.label}`, Math.max(1, ...step.coverage)));
      row.append(before);
    }
    table.append(row);
  });
  return table;
}

/** A row for each token that could come next: choosing it puts it there, as far as there is an answer to that.
 * @param {any} found @param {number} at @param {any} state @param {string} id of the buttons
 * @param {(token: string) => void} choose */
export function candidates(found, at, state, id, choose) {
  const table = element("table");
  const head = element("tr");
  for (const name of ["token", "probability", ""]) head.append(element(name ? "th" : "td", "", name));
  table.append(head);
  const step = found.steps[at];
  step.likeliest.forEach((/** @type {any} */ { token, probability }, /** @type {number} */ i) => {
    const row = element("tr", token === step.token ? "chosen" : "");
    const word = button(readable(token), () => choose(token));
    word.className = "word";
    word.id = `${id}-${i}`;
    inLanguage(word, found.languages[1]);
    word.disabled =
      ["<eos>", "<unk>"].includes(token) ||
      !isHeld("/api/explain", { text: state.text, ...replacedBy(state, found.tokens, at, token) });
    const name = element("td");
    name.append(word);
    const bar = element("td");
    bar.append(meter(probability, `probability of ${readable(token)}`));
    row.append(name, element("td", "number", probability.toFixed(3)), bar);
    table.append(row);
  });
  return table;
}

/** @param {number} value @param {string} name @param {number} [max] */
function meter(value, name, max = 1) {
  const made = document.createElement("meter");
  Object.assign(made, { min: 0, max, value });
  made.setAttribute("aria-label", name);
  return made;
}
