// @ts-check
/** View 5: up to four models on one sentence, and a reference that a model is made to write. */

import { ask } from "./api.js";
import { element, note, scrolling } from "./elements.js";
import { heatMap } from "./heat.js";
import { saveButtons } from "./save.js";
import { differing, named as shownAs, spelt, unitsOf, weightsOf } from "./tokens.js";

const MOST = 4; // models
const OWN = "Your translation";

/** @param {HTMLElement} place @param {any} found @param {import("./state.js").State} state @param {any} actions @param {any[]} models @param {AbortSignal} signal */
export async function showComparison(place, found, state, actions, models, signal) {
  place.replaceChildren();
  const language = models.find((model) => model.id === state.model)?.source_language;
  const alike = models.filter((model) => model.source_language === language); // the others cannot read the sentence
  const wanted = state.models.filter((id) => alike.some((model) => model.id === id));
  const chosen = new Set(wanted.length ? wanted : alike.slice(0, MOST).map((model) => model.id));
  const bar = element("div", "bar");
  const choices = element("div", "choices");
  choices.setAttribute("role", "group");
  choices.setAttribute("aria-label", "Models to compare");
  for (const model of alike) {
    const box = document.createElement("input");
    box.type = "checkbox";
    box.id = `compare-${model.id}`;
    box.checked = chosen.has(model.id);
    box.disabled = box.checked ? chosen.size === 1 : chosen.size === MOST; // one at least
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(model.id);
      else chosen.delete(model.id);
      actions.change({ models: [...chosen] }, false);
    });
    const label = element("label");
    label.append(box, ` ${model.name}`);
    choices.append(label);
  }
  const reference = document.createElement("input");
  reference.id = "reference";
  reference.value = state.reference;
  reference.maxLength = 5000;
  reference.size = 34;
  const put = () => actions.change({ reference: reference.value }, false);
  reference.addEventListener("change", () => setTimeout(put)); // once the keyboard has moved on
  const label = element("label", "", "A translation of your own, to compare with ");
  label.append(reference);
  const hint = element("p", "hint");
  const columns = element("div", "columns");
  bar.append(
    choices,
    label,
    saveButtons(() => columns, "compare"),
  );
  place.append(bar, hint, columns);
  if (!state.text.trim()) return note(columns, "Type a sentence, and its translations appear here side by side.");
  const answers = alike
    .filter((model) => chosen.has(model.id))
    .map((model) => named(model.name, told(model, models, found, state, signal)));
  if (state.reference.trim())
    answers.push(
      named(
        OWN,
        ask("/api/read", { model: state.model, text: state.text, target: state.reference }, signal).then((read) => ({
          text: state.reference,
          score: null,
          ...read,
        })),
      ),
    );
  const all = await Promise.all(answers);
  const said = all.filter(({ text }) => text !== undefined);
  const base = state.reference.trim() ? said.find(({ name }) => name === OWN) : said[0];
  if (base && said.length > 1) hint.textContent = `Marked: words that are not in “${base.name}”.`;
  for (const one of all) columns.append(column(one, base ?? one, state));
}

/** An answer by its name; what was refused stands in its place. @param {string} name @param {Promise<any>} answer */
async function named(name, answer) {
  try {
    return { name, ...(await answer) };
  } catch (error) {
    if (/** @type {Error} */ (error).name === "AbortError" || /** @type {any} */ (error).isLost) throw error;
    return { name, refused: /** @type {Error} */ (error).message };
  }
}

/** What a model says when it is told what the page's own model was told: the same beginning, and the same attention
 * where both read the same tokens. @param {any} model @param {any[]} models @param {any} found @param {import("./state.js").State} state @param {AbortSignal} signal */
async function told(model, models, found, state, signal) {
  const asked = { model: model.id, text: state.text };
  let { prefix, forced } = state;
  let hint = "";
  const own = models.find((one) => one.id === state.model);
  if (own && model.vocabulary !== own.vocabulary && (prefix.length || forced.length)) {
    const read = await ask("/api/read", { ...asked, target: spelt(prefix) }, signal);
    const tokens = (/** @type {any[]} */ list) => list.map(({ token }) => token).filter((token) => token !== "<eos>");
    prefix = tokens(read.target);
    const alike = String(tokens(read.source)) === String(tokens(found.source));
    if (forced.length && !(alike && String(prefix) === String(state.prefix))) {
      forced = [];
      hint = "Its tokens differ, so no attention was forced.";
    }
  }
  if (forced.length && !model.attention) {
    forced = [];
    hint = "It has no attention to force.";
  }
  return { ...(await ask("/api/explain", { ...asked, beam_size: state.beam, prefix, forced }, signal)), hint };
}

/** @param {any} one @param {any} other @param {import("./state.js").State} state */
function column(one, other, state) {
  const box = element("section", "column");
  box.append(element("h3", "", one.name));
  if (one.refused) {
    box.append(element("p", "hint", one.refused));
    return box;
  }
  const words = String(one.text).split(" ");
  const different = differing(
    words.map((word) => word.toLowerCase()),
    String(other.text).toLowerCase().split(" "),
  );
  const text = element("p");
  words.forEach((word, i) => text.append(different.has(i) ? element("ins", "", word) : word, " "));
  box.append(text);
  const total = one.steps.reduce(
    (/** @type {number} */ sum, /** @type {any} */ step) => sum + Math.log(step.probability),
    0,
  );
  box.append(
    element(
      "p",
      "number",
      `${one.score === null ? "" : `score ${one.score.toFixed(3)}, `}log-probability ${total.toFixed(2)}, ${one.tokens.length} tokens`,
    ),
  );
  if (one.hint) box.append(element("p", "hint", one.hint));
  const least = [...one.steps].sort((a, b) => a.probability - b.probability)[0];
  if (least) {
    const word = shownAs(one.tokens.slice(0, one.steps.indexOf(least)), least.token, state.words);
    box.append(element("p", "number", `least expected: ${word}, probability ${least.probability.toFixed(3)}`));
  }
  if (one.steps[0]?.weights) {
    const source = unitsOf(one.source, state.words);
    const target = unitsOf(one.target, state.words);
    const scroll = scrolling(`Attention of ${one.name}`);
    heatMap(scroll, {
      source,
      target,
      matrix: weightsOf(
        one.steps.map((/** @type {any} */ s) => s.weights),
        source,
        target,
      ),
      most: 22,
    });
    box.append(scroll);
  }
  return box;
}
