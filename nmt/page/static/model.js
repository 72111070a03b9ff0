// @ts-check
/** View: what the model is made of. Each part opens in place; both decoders stand side by side. */

import { element, scrolling } from "./elements.js";
import { typeset } from "./steps.js";

const ROWS = [
  ["", "Bahdanau et al. 2015", "Luong et al. 2015"],
  ["query", "s_{t−1}, the state before the step", "h_t, the state after it"],
  ["attention is computed", "before the RNN step", "after the RNN step"],
  ["the RNN reads", "E y_{t−1} and c_t", "E y_{t−1} and, with input feeding, h̃_{t−1}"],
  ["the output layer reads", "s_t, c_t and E y_{t−1}", "h̃_t = tanh(W_c [c_t; h_t])"],
  ["who sees y_{t−1}", "the RNN and the output layer; the query does not", "the RNN, and through h_t the query"],
];

/** @param {HTMLElement} place @param {any} model */
export function showModel(place, model) {
  const { wiring, score, scope, source_words: read, target_words: written } = model;
  const name = wiring === "luong" ? "Luong's" : wiring === "bahdanau" && "Bahdanau's";
  /** @type {[string, string][]} */
  const parts = [
    ["Tokens", `The sentence becomes tokens, of ${read.toLocaleString("en")} kinds. Each has a vector, its embedding.`],
    [
      "Encoder",
      "A bidirectional GRU reads them. v_s joins its two states at position s: what stands before, and what follows.",
    ],
    ...(name
      ? /** @type {[string, string][]} */ ([
          ["Attention", `Score: e_{t,s} = ${score}. Scope: ${scope}. Context: c_t = Σ α_{t,s} v_s.`],
          ["Decoder", `A GRU writes one token at each step, in ${name} wiring (below).`],
        ])
      : /** @type {[string, string][]} */ ([
          ["Decoder", "A GRU writes one token at each step. It has no attention: it reads the encoder's final states."],
        ])),
    ["Output", `A softmax gives each of ${written.toLocaleString("en")} target tokens its probability.`],
    ["Search", `Beam search keeps the ${model.beam_size} best beginnings of a translation at each step.`],
  ];
  const blocks = element("div", "blocks");
  for (const [title, text] of parts) {
    const block = element("details");
    block.append(element("summary", "", title), typeset(element("p"), text));
    blocks.append(block);
  }
  const picture = document.createElement("img");
  picture.src = "/static/decoders.svg";
  picture.alt =
    "One step of Bahdanau's decoder, whose attention comes before the GRU, and of Luong's, where it comes after";
  const table = element("table");
  ROWS.forEach((cells, i) => {
    const row = element("tr");
    cells.forEach((text, j) => row.append(typeset(element((i && j) || !(i || j) ? "td" : "th"), text)));
    table.append(row);
  });
  const box = scrolling("Both decoders");
  box.append(picture, table);
  place.replaceChildren(element("p", "hint", "From the sentence to its translation: choose a part."), blocks, box);
}
