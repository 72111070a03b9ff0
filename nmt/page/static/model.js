// @ts-check
/** View: what the model is, its terms, and both decoders side by side. (Its blocks are above: diagram.js.) */

import { element, scrolling } from "./elements.js";
import { languageName } from "./languages.js";
import { typeset } from "./steps.js";

const ROWS = [
  ["", "Bahdanau et al. 2015", "Luong et al. 2015"],
  ["query", "s_{t−1}, the state before the step", "h_t, the state after it"],
  ["attention is computed", "before the RNN step", "after the RNN step"],
  ["the RNN reads", "E y_{t−1} and c_t", "E y_{t−1} and, with input feeding, h̃_{t−1}"],
  ["the output layer reads", "s_t, c_t and E y_{t−1}", "h̃_t = tanh(W_c [c_t; h_t])"],
  ["who sees y_{t−1}", "the RNN and the output layer; the query does not", "the RNN, and through h_t the query"],
];
/** @type {Record<string, string>} */
const DECODERS = { luong: "Luong's, on the right", bahdanau: "Bahdanau's, on the left", none: "without attention" };

/** @param {HTMLElement} place @param {any} model */
export function showModel(place, model) {
  const [from, to] = [model.source_language, model.target_language].map(languageName);
  const facts = element("dl", "formulas");
  /** @type {[string, string][]} */
  const lines = [
    ["model", `${model.name}: from ${from} into ${to}`],
    ["terms of use", model.terms ?? "not known to this page: ask whoever made the model"],
    ["decoder", DECODERS[model.wiring]],
    ["vocabulary", `${model.source_words.toLocaleString("en")} and ${model.target_words.toLocaleString("en")} tokens`],
    ["search", `beam ${model.beam_size}, exponent of the length penalty ${model.length_penalty}`],
  ];
  for (const [name, text] of lines) facts.append(element("dt", "", name), element("dd", "", text));
  const picture = document.createElement("img");
  picture.src = "static/decoders.svg";
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
  place.replaceChildren(facts, box);
}
