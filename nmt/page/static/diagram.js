// @ts-check
/** The model as a row of blocks between the sentence and its translation. Each opens in place. */

import { element, keepingFocus } from "./elements.js";
import { best } from "./heat.js";
import { typeset } from "./steps.js";
import { mainOf, readable, unitsOf, weightsOf } from "./tokens.js";

/** @typedef {{name: string, text: string, formulas: string[], view: string, here: (found: any, state: any) => string}} Block */

const VIEWS = { attention: "Attention", steps: "Step by step", beam: "Beam" };
const RECURRENT = "A recurrent network (GRU or LSTM)";

/** @type {Record<string, Block>} */
const BLOCKS = {
  tokens: {
    name: "Tokens",
    text: "The sentence is cut into tokens: words, or pieces of words. Each has a vector, its embedding.",
    formulas: ["x_s = E[token_s]"],
    view: "attention",
    here: ({ source }) => source.map((/** @type {any} */ { label }) => label).join(" · "),
  },
  encoder: {
    name: "Encoder",
    text: `${RECURRENT} reads them from both ends. v_s joins its two states at position s: what stands before, and what follows.`,
    formulas: ["v_s = [h_s forwards; h_s backwards]"],
    view: "attention",
    here: ({ source }) => `${source.length} vectors, one for each token of the sentence and one for its end.`,
  },
  attention: {
    name: "Attention",
    text: "A query, the decoder's state, is compared with each v_s. The scores become weights that sum to 1, and the context c_t is the mean of all v_s by these weights.",
    formulas: [],
    view: "attention",
    here(found, state) {
      const source = unitsOf(found.source, state.words);
      const unit = unitAt(found, state);
      const weights = found.steps.map((/** @type {any} */ step) => step.weights);
      if (!weights[0]) return "";
      return `“${unit.label}” was written while reading ${best(weightsOf(weights, source, [unit])[0], source)}.`;
    },
  },
  decoder: {
    name: "Decoder",
    text: `${RECURRENT} goes one step for each token of the translation. It reads the token before, y_{t−1}.`,
    formulas: [],
    view: "steps",
    here: ({ steps }) => `${steps.length} steps, the last of which ends the translation.`,
  },
  output: {
    name: "Output",
    text: "A layer and a softmax give each token of the vocabulary its probability of coming next.",
    formulas: [],
    view: "steps",
    here(found, state) {
      const unit = unitAt(found, state);
      const t = mainOf(unit, found.target);
      const likeliest = found.steps[t].likeliest.slice(0, 3);
      const said = likeliest.map(
        (/** @type {any} */ { token, probability }) => `“${readable(token)}” ${probability.toFixed(3)}`,
      );
      return `for “${unit.label}”: ${said.join(", ")}, …`;
    },
  },
  beam: {
    name: "Beam search",
    text: "Several beginnings of a translation are kept at each step: those with the largest log-probability. Of those that have ended, the one with the best score is the translation.",
    formulas: ["score = Σ_t log p(y_t) ÷ length penalty"],
    view: "beam",
    here: ({ tree }) => `${tree.length} beginnings were looked at.`,
  },
};

/** The word, or the token, of the step that is shown. @param {any} found @param {any} state */
function unitAt({ target }, { words, step }) {
  const units = unitsOf(target, words);
  return units.find(({ tokens }) => tokens.includes(step)) ?? units[0];
}

/** The blocks in the order of their computation, and what is particular to this model. @param {any} model */
function blocksOf({ wiring, score, scope, beam_size: beam, source_words: read, target_words: written }) {
  const kinds = (/** @type {number} */ count) => `There are ${count.toLocaleString("en")} kinds.`;
  /** @type {Record<string, string[]>} what is computed, by the wiring */
  const decoder = {
    bahdanau: ["s_t = RNN(s_{t−1}, [E y_{t−1}; c_t])"],
    luong: ["h_t = RNN(h_{t−1}, [E y_{t−1}; h̃_{t−1}])", "h̃_{t−1} enters if the model has input feeding"],
    none: ["s_t = RNN(s_{t−1}, E y_{t−1})"],
  };
  /** @type {Record<string, string[]>} */
  const output = {
    bahdanau: ["p(y_t) = softmax of a layer that reads s_t, c_t and E y_{t−1}"],
    luong: ["h̃_t = tanh(W_c [c_t; h_t])", "p(y_t) = softmax(W h̃_t)"],
    none: ["p(y_t) = softmax of a layer that reads s_t"],
  };
  const query =
    wiring === "luong"
      ? "query h = h_t, the state after the RNN's step"
      : "query h = s_{t−1}, the state before the RNN's step";
  const of = {
    ...BLOCKS,
    tokens: { ...BLOCKS.tokens, text: `${BLOCKS.tokens.text} ${kinds(read)}` },
    attention: {
      ...BLOCKS.attention,
      formulas: [query, `e_{t,s} = ${score}`, `weights α_{t,s}: ${scope}`, "c_t = Σ_s α_{t,s} v_s"],
    },
    decoder: { ...BLOCKS.decoder, formulas: decoder[wiring] },
    output: {
      ...BLOCKS.output,
      text: `${BLOCKS.output.text} ${kinds(written)}`,
      formulas: output[wiring],
    },
    beam: {
      ...BLOCKS.beam,
      text: `${BLOCKS.beam.text} This model keeps ${beam} unless told otherwise.`,
    },
  };
  const steps = {
    bahdanau: ["attention", "decoder"],
    luong: ["decoder", "attention"],
    none: ["decoder"],
  };
  return {
    of,
    once: ["tokens", "encoder"],
    repeated: [.../** @type {any} */ (steps)[wiring], "output", "beam"],
  };
}

/** @param {HTMLElement} place @param {any} model @param {any} found @param {import("./state.js").State} state @param {any} actions */
export function showDiagram(place, model, found, state, actions) {
  if (!model) return place.replaceChildren();
  const { of, once, repeated } = blocksOf(model);
  const row = element("div", "diagram");
  const loop = element("div", "loop");
  const opened = element("div", "opened");
  opened.id = "opened";
  const put = (/** @type {HTMLElement} */ box, /** @type {string[]} */ names) =>
    names.forEach((name, i) => box.append(...(i ? [arrow()] : []), block(name)));
  put(row, once);
  put(loop, repeated);
  const again = element("span", "hint", "↻ for each token");
  loop.append(again);
  row.append(arrow(), loop);
  place.replaceChildren(element("p", "hint", "The model: choose a part to see what it does"), row, opened);
  const chosen = /** @type {Record<string, Block>} */ (of)[state.block];
  if (!chosen || ![...once, ...repeated].includes(state.block)) return (opened.hidden = true);
  fill(opened, chosen, found, state, actions);

  /** @param {string} name */
  function block(name) {
    const made = /** @type {HTMLButtonElement} */ (
      element("button", "quiet", /** @type {Record<string, Block>} */ (of)[name].name)
    );
    made.type = "button";
    made.id = `block-${name}`;
    made.setAttribute("aria-expanded", String(state.block === name));
    made.setAttribute("aria-controls", "opened");
    made.addEventListener("click", () => {
      const next = { ...state, block: state.block === name ? "" : name };
      actions.remember({ block: next.block });
      keepingFocus(() => showDiagram(place, model, found, next, actions));
    });
    return made;
  }
}

function arrow() {
  const made = element("span", "hint", "→");
  made.ariaHidden = "true";
  return made;
}

/** @param {HTMLElement} place @param {Block} block @param {any} found @param {any} state @param {any} actions */
function fill(place, { name, text, formulas, view, here }, found, state, actions) {
  place.setAttribute("role", "region");
  place.setAttribute("aria-label", name);
  place.append(typeset(element("p"), text));
  for (const formula of formulas) place.append(typeset(element("p", "formula"), formula));
  const said = found.steps.length && here(found, state);
  if (said) place.append(element("p", "hint", `Here: ${said}`));
  const label = `See it in ${/** @type {Record<string, string>} */ (VIEWS)[view]}`;
  const go = /** @type {HTMLButtonElement} */ (element("button", "quiet", label));
  go.type = "button";
  go.addEventListener("click", () => {
    actions.change({ view }, false);
    document.getElementById("panel")?.focus();
  });
  place.append(go);
}
