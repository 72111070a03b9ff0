// @ts-check
/** What is shown, as plain values that live in the address: whoever opens the address sees the same. */

/**
 * @typedef {object} State
 * @property {string} view
 * @property {string} text one sentence
 * @property {string} whole the text in the box, if it has several
 * @property {string} model
 * @property {number | null} beam
 * @property {boolean} words whether subwords are joined
 * @property {string} part of the attention: a head from 1, "sentence", "within" each sentence, or all of it
 * @property {string[]} prefix the tokens that the translation begins with
 * @property {[number, number][]} forced pairs of a target and a source position
 * @property {[string, string][]} glossary terms and the translations that they must have
 * @property {number} step
 * @property {number | null} mind the step whose other words are shown
 * @property {number | null} node the hypothesis of the search that is pointed at
 * @property {string[]} models those that are compared
 * @property {string} reference
 * @property {string[] | null} runs the runs of training that are shown; null: the latest
 * @property {string} set the test set
 * @property {string} metric by which its sentences are scored
 * @property {string} order its sentences' order: "line", "length", a model's id, or "difference"
 * @property {number | null} bucket the only lengths that are shown
 * @property {number | null} line the sentence that is open
 * @property {string} block of the model that is open
 * @property {string} side of a word whose neighbours are shown: source or target
 */

/** @param {(model: string) => string} example the sentence where the address has none @returns {State} */
export function fromAddress(example) {
  const given = new URLSearchParams(location.hash.slice(1));
  const beam = Number(given.get("beam"));
  const model = given.get("model") ?? "1";
  return {
    view: given.get("view") ?? "attention",
    text: given.get("text") ?? example(model),
    whole: given.get("whole") ?? "",
    model,
    beam: Number.isInteger(beam) && beam > 0 ? Math.min(beam, 50) : null,
    words: given.get("words") !== "0",
    part: /^([1-9]\d?|sentence|within)$/.exec(given.get("part") ?? "")?.[0] ?? "",
    prefix: list(given.get("prefix")).filter((token) => typeof token === "string" && token),
    forced: list(given.get("forced")).filter(isPair),
    glossary: list(given.get("glossary")).filter(isTerm),
    step: Math.max(0, Math.trunc(Number(given.get("step"))) || 0),
    mind: number(given.get("mind")),
    node: number(given.get("node")),
    models: (given.get("models") ?? "").split(",").filter(Boolean).slice(0, 4),
    reference: given.get("reference") ?? "",
    runs: given.get("runs")?.split(",").filter(Boolean).slice(0, 8) ?? null,
    set: given.get("set") ?? "",
    metric: /^(bleu|missing|added)$/.exec(given.get("metric") ?? "")?.[0] ?? "chrf",
    order: given.get("order") ?? "line",
    bucket: number(given.get("bucket")),
    line: number(given.get("line")),
    block: given.get("block") ?? "",
    side: given.get("side") === "source" ? "source" : "target",
  };
}

/** What changes when a step's attention is forced onto a source position, or no longer: what is written before stays.
 * @param {State} state @param {number} t @param {number} s @returns {Pick<State, "prefix" | "forced">} */
export function forcedOnto(state, t, s) {
  const others = state.forced.filter(([step]) => step !== t);
  const same = state.forced.some(([step, place]) => step === t && place === s);
  return { prefix: state.prefix.slice(0, t), forced: same ? others : [...others, [t, s]] };
}

/** What changes when another token is put in the place of one: what is written before stays.
 * @param {State} state @param {string[]} tokens of the translation @param {number} t @param {string} token
 * @returns {Pick<State, "prefix" | "forced">} */
export function replacedBy(state, tokens, t, token) {
  return { prefix: [...tokens.slice(0, t), token], forced: state.forced.filter(([step]) => step <= t) };
}

/** @param {State} state */
export function toAddress(state) {
  const parts = new URLSearchParams({ view: state.view, text: state.text });
  if (state.whole) parts.set("whole", state.whole);
  if (state.model !== "1") parts.set("model", state.model);
  if (state.beam !== null) parts.set("beam", String(state.beam));
  if (!state.words) parts.set("words", "0");
  if (state.part) parts.set("part", state.part);
  if (state.prefix.length) parts.set("prefix", JSON.stringify(state.prefix));
  if (state.forced.length) parts.set("forced", JSON.stringify(state.forced));
  if (state.glossary.length) parts.set("glossary", JSON.stringify(state.glossary));
  if (state.step) parts.set("step", String(state.step));
  if (state.mind !== null) parts.set("mind", String(state.mind));
  if (state.node !== null) parts.set("node", String(state.node));
  if (state.models.length) parts.set("models", state.models.join(","));
  if (state.reference) parts.set("reference", state.reference);
  if (state.runs) parts.set("runs", state.runs.join(","));
  if (state.set) parts.set("set", state.set);
  if (state.metric !== "chrf") parts.set("metric", state.metric);
  if (state.order !== "line") parts.set("order", state.order);
  if (state.bucket !== null) parts.set("bucket", String(state.bucket));
  if (state.line !== null) parts.set("line", String(state.line));
  if (state.block) parts.set("block", state.block);
  if (state.side !== "target") parts.set("side", state.side);
  return `#${parts}`;
}

/** @param {string | null} text */
function number(text) {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}

/** @param {string | null} text @returns {any[]} */
function list(text) {
  try {
    const found = JSON.parse(text ?? "[]");
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}

/** The terms of "term = translation; term = translation". What is not whole yet is left out.
 * @param {string} text @returns {[string, string][]} */
export function termsOf(text) {
  const pairs = text.split(/[;\n]/).map((pair) => pair.split("=").map((side) => side.trim()));
  return /** @type {[string, string][]} */ (pairs.filter(isTerm));
}

/** @param {[string, string][]} glossary */
export const writtenTerms = (glossary) => glossary.map((pair) => pair.join(" = ")).join("; ");

/** @param {any} pair */
function isTerm(pair) {
  return Array.isArray(pair) && pair.length === 2 && pair.every((side) => typeof side === "string" && side);
}

/** @param {any} pair */
function isPair(pair) {
  return Array.isArray(pair) && pair.length === 2 && pair.every((n) => Number.isInteger(n) && n >= 0);
}
