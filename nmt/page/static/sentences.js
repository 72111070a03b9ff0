// @ts-check
/** Texts of several sentences: one of them is looked at. The API tells where they end. */

import { ask, live } from "./api.js";
import { element } from "./elements.js";

const MAYBE_SEVERAL = /[.!?\n…。！？]["'”“»)\]]*\s*\S/;
/** The sentences of the text in the box, if it has several, as a model translates them.
 * @type {{asked: string, sentences: any[]}} */
let split = { asked: "", sentences: [] };

/** The text in the box, if it has several sentences, and the one that is looked at: the first, until another is chosen.
 * @param {import("./state.js").State} state @param {boolean} hasModel @param {AbortSignal} signal
 * @returns {Promise<{whole: string, text: string}>} */
export async function sentenceOf({ model, text, whole: before, glossary }, hasModel, signal) {
  const whole = before || text;
  const question = { model, text: whole, attention: false, ...(glossary.length && { glossary }) };
  const asked = JSON.stringify(question);
  if (split.asked !== asked) {
    const asks = live && hasModel && MAYBE_SEVERAL.test(whole.trim());
    const sentences = asks ? (await ask("/api/translate", question, signal)).sentences : [];
    if (!signal.aborted) split = { asked, sentences };
  }
  const sources = split.sentences.map(({ source }) => source);
  if (!sources.length) return { whole: "", text: whole };
  return { whole, text: sources.includes(text) ? text : sources[0] };
}

/** The sentences of a text, if it has several, each as a button with its translation.
 * @param {HTMLElement} place @param {import("./state.js").State} state @param {any} actions */
export function showSentences(place, state, actions) {
  place.replaceChildren(
    ...split.sentences.map(({ source, text }) => {
      const button = /** @type {HTMLButtonElement} */ (element("button", "quiet", text));
      button.type = "button";
      button.title = source;
      button.setAttribute("aria-pressed", String(source === state.text));
      const about = { text: source, prefix: [], forced: [], step: 0, mind: null };
      button.addEventListener("click", () => actions.change(about, true));
      return button;
    }),
  );
  place.hidden = !split.sentences.length;
}
