// @ts-check
/** The translation above the views, word by word: what the model was told, and whether to trust it. */

import { element } from "./elements.js";
import { adjoins, isMark, readable, spelt, withCase } from "./tokens.js";

const END = "<eos>";
/** @type {Record<string, string>} */
const MARKS = { "⇧": "a capital letter follows", "⇪": "capital letters follow", "⇩": "small letters follow" };

/** Each word is a button. Where marks of case demand capitals, the words have them.
 * @param {HTMLElement} place @param {any} found @param {import("./state.js").State} state @param {any} actions */
export function showSaid(place, found, state, actions) {
  place.replaceChildren();
  const tokens = found.target.map((/** @type {any} */ { token }) => token);
  const texts = withCase(tokens);
  found.steps.forEach((/** @type {any} */ step, /** @type {number} */ t) => {
    const word = /** @type {HTMLButtonElement} */ (element("button", "", readable(texts[t] || step.token)));
    word.type = "button";
    const { word: number, kind } = found.target[t];
    if (kind === "end") word.classList.add("end");
    if (isMark(step.token)) word.classList.add("case");
    if (adjoins(tokens, t)) word.classList.add("joined");
    if (t < state.prefix.length) word.classList.add("fixed");
    if (step.probability < 0.5) word.classList.add("unsure");
    const means = isMark(step.token) ? `${MARKS[step.token[0]]}; ` : "";
    word.title = `${means}probability ${step.probability.toFixed(3)}`;
    word.dataset.word = String(number);
    word.id = `said-${t}`;
    word.addEventListener("click", () => actions.reconsider(t));
    place.append(word);
  });
}

/** What the signs and lines in the translation mean, as far as it has any. @param {any} found */
export function legendOf(found) {
  const signs = Object.keys(MARKS).filter((sign) =>
    found.steps.some((/** @type {any} */ { token }) => isMark(token) && token[0] === sign),
  );
  const unsure = found.steps.some((/** @type {any} */ { probability }) => probability < 0.5);
  return [
    ...signs.map((sign) => `${sign}: ${MARKS[sign]}.`),
    ...(unsure ? ["Dotted: probability below 0.5."] : []),
  ].join(" ");
}

/** @param {HTMLElement} place @param {any} found @param {import("./state.js").State} state @param {any} actions */
export function showTold(place, found, state, actions) {
  place.replaceChildren();
  if (state.prefix.length) place.append(element("span", "chip", `begins with “${spelt(state.prefix)}”`));
  for (const [t, s] of state.forced)
    place.append(element("span", "chip", `step ${t + 1} reads only “${found.source[s]?.label ?? s + 1}”`));
  if (state.prefix.length || state.forced.length) {
    const undo = /** @type {HTMLButtonElement} */ (element("button", "quiet", "Let it decide again"));
    undo.type = "button";
    undo.addEventListener("click", () => actions.change({ prefix: [], forced: [] }, true));
    place.append(undo);
  }
}

/** Why the translation is not to be trusted, as `nmt translate` says it, too. @param {any} found @param {any} model */
export function doubtsAbout(found, model) {
  const { steps, question } = found;
  if (!steps.length) return "";
  const logs = steps.map((/** @type {any} */ { probability }) => Math.log(probability));
  const mean = logs.reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b) / logs.length;
  const free = !question.prefix.length && !question.forced.length;
  const said = [];
  if (free && model.unlike_below !== null && mean < model.unlike_below)
    said.push("This sentence is unlike the text that the model was trained on: do not trust the translation.");
  if (steps[steps.length - 1].token !== END) said.push(`The translation was cut off after ${steps.length} tokens.`);
  const [missing, added] = numberDifferences(question.text, found.text);
  if (missing.length) said.push(`Numbers are missing in the translation: ${missing.join(", ")}.`);
  if (added.length) said.push(`Numbers of the translation are not in the sentence: ${added.join(", ")}.`);
  return said.join(" ");
}

/** As nmt/text/checks.py counts them. @param {string} source @param {string} target */
function numberDifferences(source, target) {
  const [one, other] = [source, target].map(numbersOf);
  const left = (/** @type {string[]} */ some, /** @type {string[]} */ more) => {
    const rest = [...more];
    return some.filter((number) => {
      const place = rest.indexOf(number);
      if (place >= 0) rest.splice(place, 1);
      return place < 0;
    });
  };
  return [left(one, other), left(other, one)];
}

const THOUSANDS = /(?<![\d.,'’])\d{1,3}(?:([.,'’\u00a0\u202f])\d{3})(?:\1\d{3})*(?!\d)/g;

/** Without separators and leading zeros. @param {string} text */
function numbersOf(text) {
  const joined = text.replace(THOUSANDS, (number) => number.replace(/\D/g, ""));
  return (joined.match(/\d+/g) ?? []).map((number) => number.replace(/^0+(?=.)/, ""));
}

/** The chosen part of the translation as a text, without what the buttons show of tokens.
 * @param {HTMLElement} place @param {any} found @param {Selection | null} selection */
export function copied(place, found, selection) {
  const tokens = [...place.children]
    .map((word, t) => (selection?.containsNode(word, true) ? found.steps[t].token : END))
    .filter((token) => token !== END);
  const all = found.steps.filter((/** @type {any} */ { token }) => token !== END).length;
  return tokens.length === all ? found.text : spelt(tokens);
}
