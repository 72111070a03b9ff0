// @ts-check
/** The translation above the views, word by word: what the model was told, and whether to trust it. */

import { element } from "./elements.js";
import { adjoins, isMark, mainOf, readable, spelt, unitsOf, withCase } from "./tokens.js";

const END = "<eos>";
/** @type {Record<string, string>} */
const MARKS = { "⇧": "a capital letter follows", "⇪": "capital letters follow", "⇩": "small letters follow" };

/** Each word, or each token, is a button. Where marks of case demand capitals, the words have them.
 * @param {HTMLElement} place @param {any} found @param {import("./state.js").State} state @param {any} actions */
export function showSaid(place, found, state, actions) {
  place.replaceChildren();
  const tokens = found.target.map((/** @type {any} */ { token }) => token);
  const texts = withCase(tokens);
  const ofTerms = tokensOfTerms(found);
  for (const unit of unitsOf(found.target, state.words)) {
    const t = mainOf(unit, found.target);
    const probability = probabilityOf(found, unit);
    const word = /** @type {HTMLButtonElement} */ (
      element("button", "", state.words ? unit.label : readable(texts[t] || tokens[t]))
    );
    word.type = "button";
    if (unit.kind === "end") word.classList.add("end");
    if (!state.words && isMark(tokens[t])) word.classList.add("case");
    if (adjoins(tokens, unit.tokens[0])) word.classList.add("joined");
    if (unit.tokens.every((at) => at < state.prefix.length)) word.classList.add("fixed");
    if (probability < 0.5) word.classList.add("unsure");
    const isAdded = unit.tokens.some((at) => found.added?.includes(at));
    if (isAdded) word.classList.add("added");
    const means = isMark(tokens[t]) ? `${MARKS[tokens[t][0]]}; ` : "";
    word.title = `${means}probability ${probability.toFixed(3)}`;
    if (isAdded) word.title += "; the source may have no such word";
    if (unit.tokens.length > 1) word.title += `, the product of those of its ${unit.tokens.length} pieces`;
    const isTerm = unit.tokens.every((at) => ofTerms.has(at));
    if (isTerm) word.classList.add("term");
    if (isTerm) word.title += "; of the glossary";
    word.dataset.word = String(found.target[t].word);
    word.dataset.tokens = unit.tokens.join();
    word.id = `said-${t}`;
    word.addEventListener("click", () => actions.reconsider(t));
    place.append(word);
  }
}

/** The tokens of the translation that a glossary asked for. @param {any} found @returns {Set<number>} */
function tokensOfTerms({ target, question }) {
  const units = unitsOf(target, true);
  const small = units.map(({ label }) => label.toLowerCase());
  const found = new Set();
  for (const [, term] of question?.glossary ?? []) {
    const words = term.toLowerCase().split(/\s+/);
    small.forEach((_, i) => {
      if (words.every((/** @type {string} */ word, /** @type {number} */ n) => small[i + n] === word))
        units.slice(i, i + words.length).forEach(({ tokens }) => tokens.forEach((at) => found.add(at)));
    });
  }
  return found;
}

/** @param {any} found @param {import("./tokens.js").Unit} unit */
function probabilityOf(found, unit) {
  return unit.tokens.reduce((product, t) => product * found.steps[t].probability, 1);
}

/** What the signs and lines in the translation mean, as far as it has any. @param {any} found @param {boolean} joined */
export function legendOf(found, joined) {
  const signs = Object.keys(MARKS).filter(
    (sign) => !joined && found.steps.some((/** @type {any} */ { token }) => isMark(token) && token[0] === sign),
  );
  const unsure = unitsOf(found.target, joined).some((unit) => probabilityOf(found, unit) < 0.5);
  return [
    ...signs.map((sign) => `${sign}: ${MARKS[sign]}.`),
    ...(unsure ? ["Dotted: probability below 0.5."] : []),
    ...(tokensOfTerms(found).size ? ["Green line: of the glossary."] : []),
    ...(found.added?.length ? ["Wavy: the source may have no such word."] : []),
  ].join(" ");
}

/** @param {HTMLElement} place @param {any} found @param {import("./state.js").State} state @param {any} actions */
export function showTold(place, found, state, actions) {
  place.replaceChildren();
  if (state.prefix.length) place.append(element("span", "chip", `begins with “${spelt(state.prefix)}”`));
  const source = unitsOf(found.source, state.words);
  for (const [t, s] of state.forced) {
    const word = source.find((unit) => unit.tokens.includes(s))?.label ?? s + 1;
    place.append(element("span", "chip", `step ${t + 1} reads only “${word}”`));
  }
  if (state.prefix.length || state.forced.length) {
    const undo = /** @type {HTMLButtonElement} */ (element("button", "quiet", "Let it decide again"));
    undo.type = "button";
    undo.addEventListener("click", () => actions.change({ prefix: [], forced: [] }, true));
    place.append(undo);
  }
}

/** Whether the text is unlike what the model was trained on. @param {any} found @param {any} model */
function isUnlike({ steps, question, source_rarity: rarity }, model) {
  if (!steps.length || question.prefix.length || question.forced.length) return false;
  const logs = steps.map((/** @type {any} */ { probability }) => Math.log(probability));
  const mean = logs.reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b) / logs.length;
  const rare = model.unlike_above !== null && rarity > model.unlike_above;
  return rare || (model.unlike_below !== null && mean < model.unlike_below);
}

/** The model that reads the text's language, where that is another one and the text is unlike what this model knows.
 * @param {any} found @param {any} model @param {any[]} models */
export function betterModel(found, model, models) {
  const { language } = found;
  if (!language || language === model.source_language || !isUnlike(found, model)) return undefined;
  const reading = models.filter((one) => one.source_language === language);
  return reading.find((one) => one.target_language === model.source_language) ?? reading[0];
}

/** Why the translation is not to be trusted, as `nmt translate` says it, too. @param {any} found @param {any} model */
export function doubtsAbout(found, model) {
  const { steps, question } = found;
  if (!steps.length) return "";
  const said = [];
  if (isUnlike(found, model))
    said.push("This sentence is unlike the text that the model was trained on: do not trust the translation.");
  if (steps[steps.length - 1].token !== END) said.push(`The translation was cut off after ${steps.length} tokens.`);
  for (const [positions, tokens, text] of [
    [found.missing, found.source, "Words that may be missing in the translation"],
    [found.added, found.target, "Words of the translation that the sentence may not have"],
  ]) {
    const units = unitsOf(tokens, true).filter((unit) => unit.tokens.some((at) => positions?.includes(at)));
    if (units.length) said.push(`${text}: ${units.map(({ label }) => label).join(", ")}.`);
  }
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
  const tokens = /** @type {HTMLElement[]} */ ([...place.children])
    .filter((word) => selection?.containsNode(word, true))
    .flatMap((word) => (word.dataset.tokens ?? "").split(",").map((t) => found.steps[Number(t)].token))
    .filter((token) => token !== END);
  const all = found.steps.filter((/** @type {any} */ { token }) => token !== END).length;
  return tokens.length === all ? found.text : spelt(tokens);
}
