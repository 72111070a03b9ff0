// @ts-check
/** View 2: the decoding, step by step. */

import { isHeld } from "./api.js";
import { element, keepingFocus, note } from "./elements.js";
import { inLanguage } from "./languages.js";
import { partChoice, partOf, partsOf } from "./parts.js";
import { saveButtons } from "./save.js";
import { forcedOnto, replacedBy } from "./state.js";
import { mainOf, named, sumsOf, unitsOf } from "./tokens.js";

const d3 = /** @type {any} */ (globalThis).d3;
/** @type {number | undefined} */
let playing;

/** @param {HTMLElement} place @param {any} found @param {import("./state.js").State} state @param {any} actions */
export function showSteps(place, found, state, actions) {
  clearInterval(playing);
  playing = undefined;
  place.replaceChildren();
  const units = unitsOf(found.target, state.words);
  const count = units.length;
  if (!count) return note(place, "Type a sentence, and the steps of its translation appear here.");
  const player = element("div", "player");
  const back = button("◀ Back", () => go(at - 1));
  const play = button("Play", () => toggle());
  const next = button("Next ▶", () => go(at + 1));
  play.className = "";
  const slider = document.createElement("input");
  Object.assign(slider, {
    type: "range",
    min: "0",
    max: String(count - 1),
    step: "1",
  });
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
  const unitAt = units.findIndex(({ tokens }) => tokens.includes(state.step));
  let at = unitAt < 0 ? count - 1 : unitAt;

  /** @param {number} step */
  function go(step) {
    at = Math.max(0, Math.min(count - 1, step));
    slider.value = String(at);
    back.ariaDisabled = String(at === 0); // the keyboard stays where it is
    next.ariaDisabled = String(at === count - 1);
    const name = state.words ? "word" : "step";
    number.textContent = `${name} ${at + 1} of ${count}`;
    slider.setAttribute("aria-valuetext", `${name} ${at + 1}: ${units[at].label}`);
    actions.remember({ step: mainOf(units[at], found.target) });
    step_(body, found, units, at, state, actions, Number(head));
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

/** Of a word of several pieces, the step is that of its first piece that is no mark.
 * @param {HTMLElement} place @param {any} found @param {import("./tokens.js").Unit[]} units @param {number} index @param {any} state @param {any} actions @param {number} head from 1; 0: all */
function step_(place, found, units, index, state, actions, head) {
  const [unit, at] = [units[index], mainOf(units[index], found.target)];
  const step = found.steps[at];
  const sentence = element("p", "sentence");
  units.forEach(({ label }, i) => {
    sentence.append(element("span", i < index ? "" : i === index ? "now" : "later", label), " ");
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
  if (unit.tokens.length > 1) {
    const pieces = unit.tokens.map((t) => found.target[t].label).join(" ");
    const text = `“${unit.label}” takes ${unit.tokens.length} steps (${pieces}). This is the one of “${found.target[at].label}”.`;
    next.append(element("p", "hint", text));
  }
  next.append(formulas(found, step, state.words));
  inLanguage(sentence, found.languages[1]);
  keepingFocus(() => place.replaceChildren(sentence, steps));
}

/** How each number of a step is computed. @param {any} found @param {any} step @param {boolean} joined */
function formulas(found, step, joined) {
  const { wiring, score, scope } = found.model;
  const [state, before] = wiring === "luong" ? ["h_t", "h_{t−1}"] : ["s_{t−1}", "s_{t−1}"];
  const query = wiring === "luong" ? "h_t, the decoder's new state" : `${before}, the decoder's state before this step`;
  const output = wiring === "luong" ? "tanh(W_c [c_t; h_t])" : "[s_t; c_t; E y_{t−1}]";
  const over = step.centre ? ", over the window p_t ± D" : ", over all s";
  const gaussian = /sigmoid/.test(scope) ? " · exp(−2 (s − p_t)² / D²)" : "";
  const weight = /^α/.test(scope) ? scope : `α_{t,s} = exp e_{t,s} / Σ exp e_{t,s}${gaussian}${over}`;
  const joint = joined && found.source.length > unitsOf(found.source, true).length;
  /** @type {[string, string][]} */
  const rows = [["query", query]];
  if (step.weights)
    rows.push(
      [
        "score",
        `e_{t,s} = ${score}, with h = ${state}${joint ? "; of a word: log Σ exp e_{t,s} over its pieces" : ""}`,
      ],
      ["weight", `${weight}${joint ? "; of a word: the sum over its pieces" : ""}`],
      ["context", "c_t = Σ α_{t,s} v_s, where v_s is the encoder's state at position s"],
      ["of the context", "α_{t,s} (v_s · c_t) / (c_t · c_t): the shares add up to 1"],
    );
  else rows.push(["context", "c, the encoder's final states: the same at each step"]);
  if (step.coverage) rows.push(["attention so far", "the sum of α_{t,s} over the steps before this one"]);
  if (step.centre)
    rows.push([
      "window",
      `p_t = ${step.centre.map((/** @type {number} */ p) => p.toFixed(2)).join(", ")}; D = ${step.window}`,
    ]);
  rows.push(["probability", `softmax over all target tokens, of the output layer's values for ${output}`]);
  const list = element("dl", "formulas");
  for (const [name, text] of rows) {
    list.append(element("dt", "", name), typeset(element("dd"), text));
  }
  return list;
}

/** A formula as text with subscripts. @param {HTMLElement} place @param {string} text */
export function typeset(place, text) {
  for (const [i, part] of text.split(/_(\{[^}]*\}|\p{L})/u).entries())
    place.append(i % 2 ? element("sub", "", part.replace(/[{}]/g, "")) : part);
  return place;
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
  const source = unitsOf(found.source, state.words);
  const all = part || step.scores.length === 1 ? step.scores[Math.max(0, part - 1)] : null;
  const scores = all && source.map(({ tokens }) => total(tokens.map((s) => all[s])));
  const weights = sumsOf(part ? step.heads[part - 1] : step.weights, source);
  const shares = sumsOf(step.parts, source);
  const before = step.coverage && sumsOf(step.coverage, source);
  for (const name of ["source", ...(scores ? ["score"] : []), "weight", "", "of the context"])
    head.append(element(name ? "th" : "td", "", name));
  if (before) head.append(element("th", "", "attention so far"));
  table.append(head);
  const forced = state.forced.find((/** @type {number[]} */ [t]) => t === at);
  source.forEach((unit, i) => {
    const { label, tokens } = unit;
    const s = mainOf(unit, found.source);
    const row = element("tr", forced && tokens.includes(forced[1]) ? "forced" : "");
    const word = /** @type {HTMLButtonElement} */ (element("button", "word", label));
    word.type = "button";
    word.id = `source-${s}`;
    inLanguage(word, found.languages[0]);
    word.title = "Force all attention of this step here";
    word.setAttribute("aria-label", `${label}: force the attention of step ${at + 1} here`);
    word.disabled = !isHeld("/api/explain", {
      text: state.text,
      ...forcedOnto(state, at, s),
    });
    word.addEventListener("click", () => actions.force(at, s));
    const name = element("td");
    name.append(word);
    const bar = element("td");
    bar.append(meter(weights[i], `weight of ${label}`));
    row.append(
      name,
      ...(scores ? [element("td", "number", scores[i].toFixed(2))] : []),
      element("td", "number", weights[i].toFixed(3)),
      bar,
      element("td", "number", `${Math.round(100 * shares[i]) || 0} %`),
    );
    if (before) {
      const sum = element("td", "number", before[i].toFixed(2));
      sum.append(meter(before[i], `attention so far: ${label}`, Math.max(1, ...before)));
      row.append(sum);
    }
    table.append(row);
  });
  return table;
}

/** The score that gives pieces together the weight of their sum. @param {number[]} scores */
function total(scores) {
  const most = Math.max(...scores);
  return most + Math.log(scores.reduce((sum, score) => sum + Math.exp(score - most), 0));
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
    const label = named(found.tokens.slice(0, at), token, state.words);
    const word = button(label, () => choose(token));
    word.className = "word";
    word.id = `${id}-${i}`;
    inLanguage(word, found.languages[1]);
    word.disabled =
      ["<eos>", "<unk>"].includes(token) ||
      !isHeld("/api/explain", {
        text: state.text,
        ...replacedBy(state, found.tokens, at, token),
      });
    const name = element("td");
    name.append(word);
    const bar = element("td");
    bar.append(meter(probability, `probability of ${label}`));
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
