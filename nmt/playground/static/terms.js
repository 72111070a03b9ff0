// @ts-check
/** Words of the field: buttons that show what they mean. */

import { element } from "../../page/static/elements.js";

/** @type {Record<string, string>} */
const TERMS = {
  attention:
    "For each token that it writes, the decoder weighs the positions of the input anew: the weights add up to 1.",
  token:
    "What the model reads or writes in one step: here a letter or digit, or in sentences a word or punctuation mark.",
  "held-out":
    "Kept away from training: only such examples show whether the model has learnt the rule, or the examples by heart.",
  "exact match": "An output that equals its reference, token for token.",
  BLEU: "How many runs of one to four words the outputs share with their references, from 0 to 100 (Papineni et al. 2002).",
  update: "One step of training: the loss of 32 pairs, its gradient, and a small change of all weights.",
  loss: "Minus the logarithm of the probability that the model gives to the right next token, in nats (natural logarithm). It is 0 if the model is sure and right.",
  "gradient norm":
    "The length of the vector of all derivatives of the loss: how much the loss would change with the weights.",
};

const FEW = 20; // held-out examples, of which a share says little

/** How many examples are held out, and what to do if they are few. @param {number} count */
export const heldOut = (count) =>
  `One pair in ten is held out, at most 100: here ${count}.` +
  (count < FEW ? ` Exact matches move in steps of ${Math.round(100 / count)} %: paste ${10 * FEW} pairs or more.` : "");

let made = 0;

/** A button with a term, and what it shows. @param {string} name @param {string} [text] if it is written otherwise */
export function term(name, text = name) {
  const button = /** @type {HTMLButtonElement} */ (element("button", "term", text));
  const meaning = element("span", "meaning", TERMS[name]);
  button.type = "button";
  meaning.id = `term-${made++}`;
  meaning.popover = "auto";
  button.setAttribute("popovertarget", meaning.id);
  const place = element("span");
  place.append(button, meaning);
  return place;
}

/** In the place of each element with `data-term`, that term's button. @param {Element} place */
export function explain(place) {
  for (const word of /** @type {NodeListOf<HTMLElement>} */ (place.querySelectorAll("[data-term]")))
    word.replaceWith(term(word.dataset.term ?? "", word.textContent));
}
