// @ts-check
/** What the API of `nmt serve` answers, computed here: nmt/page/explanation.py, and nmt/page/serializers.py as JSON. */

import { beamTree } from "./beam_tree.js";
import { described } from "./labels.js";
import { beamSearch } from "./search.js";
import { sentencesOf } from "./sentences.js";
import { EOS, EOS_TOKEN, UNK } from "./vocabulary.js";

/** @typedef {{text: string, beam_size?: number, prefix?: string[], forced?: [number, number][]}} Question */
/** @typedef {{tokenize: (text: string) => string[], detokenize: (tokens: string[]) => string, pieces: boolean}} Tokenizer */
/** @typedef {{tokenizer: Tokenizer, vocabulary: import("./vocabulary.js").Vocabulary}} Side */
/** @typedef {{model: {attention: boolean} & Record<string, number>, window: number | null, segment_ends: number[],
 * split: boolean, source: {language: string}}} Config `model` as `/api/models` lists it; `split`: it reads one sentence */

/** What cannot be answered; the text says why. */
export class Refused extends Error {}

/** @param {import("./model.js").Model} model @param {Side} source @param {Side} target @param {Config} config */
export function answering(model, source, target, config) {
  const { model: about } = config;

  /** Whether each token begins a word that is known, and no number: these are not written three times in a row. */
  const notThrice = target.vocabulary.types.map(
    (token, id) =>
      id !== UNK && (target.tokenizer.pieces ? token.includes("▁") : /\p{L}/u.test(token)) && !/\p{N}/u.test(token),
  );

  const searching = { alpha: about.length_penalty, maxLength: about.max_length, notThrice };

  /** The tokens of a sentence, if it is not too long. @param {string} text */
  function sourceOf(text) {
    const most = about.max_source_length;
    const refuse = (/** @type {string} */ size) => {
      throw new Refused(`text: ${size}, and the model reads at most ${most} tokens: shorten the sentence`);
    };
    if (text.length > Math.max(10_000, 20 * most)) refuse(`${text.length.toLocaleString("en")} characters`);
    const tokens = source.tokenizer.tokenize(text);
    if (tokens.length > most) refuse(`${tokens.length} tokens`);
    return tokens;
  }

  /** @param {string[]} tokens @param {[number, number][]} forced */
  function check(tokens, forced) {
    if (forced.length && !about.attention) throw new Refused("forced: this model has no attention");
    for (const [t, s] of forced)
      if (t >= about.max_length || s > tokens.length)
        throw new Refused(
          `forced: step ${t} onto source position ${s}: this sentence has positions 0 to ${tokens.length}, and a ` +
            `translation steps 0 to ${about.max_length - 1}`,
        );
  }

  /** @param {import("./search.js").Hypothesis} hypothesis */
  function translation({ ids, score }) {
    const tokens = target.vocabulary.decode(ids);
    const words = ids[ids.length - 1] === EOS ? tokens.slice(0, -1) : tokens;
    return { text: target.tokenizer.detokenize(words), tokens, score };
  }

  /** @param {string} text */
  async function translated(text) {
    const tokens = sourceOf(text);
    if (!tokens.length) return { source: text, ...EMPTY };
    const encoded = await model.encode(source.vocabulary.encode(tokens), []);
    const options = { ...searching, prefix: [], beamSize: about.beam_size };
    const [best] = await beamSearch(model.stepOf(encoded), encoded.values, options);
    return { source: text, ...translation(best) };
  }

  /** The translations of a text's sentences, if it has several. @param {Question} question */
  async function translate({ text }) {
    const parts = config.split ? sentencesOf(text, config.source.language) : [];
    const sentences = [];
    for (const part of parts) sentences.push(await translated(part));
    return { sentences };
  }

  /** @param {Question} question */
  async function explain({ text, beam_size: beamSize = about.beam_size, prefix = [], forced = [] }) {
    const tokens = sourceOf(text);
    check(tokens, forced);
    if (prefix.length >= about.max_length)
      throw new Refused(
        `prefix: ${prefix.length} tokens, and a translation has at most ${about.max_length} (max_length): shorten it`,
      );
    if (!tokens.length) return NOTHING;
    const encoded = await model.encode(source.vocabulary.encode(tokens), forced);
    const step = model.stepOf(encoded);
    const begun = target.vocabulary.encode(prefix);
    const options = { ...searching, prefix: begun };
    /** @type {import("./search.js").Choice[]} */
    const watched = [];
    const watch = (/** @type {any} */ choice) => watched.push(choice);
    const found = await beamSearch(step, encoded.values, { ...options, beamSize, watch });
    const [greedy] = await beamSearch(step, encoded.values, { ...options, beamSize: 1 });
    const ends = config.segment_ends;
    const best = translation(found[0]);
    return {
      source: described([...tokens, EOS_TOKEN], source.tokenizer.pieces),
      target: described(best.tokens, target.tokenizer.pieces),
      ...best,
      source_rarity: rarity(text, source.vocabulary.encode(tokens), source.vocabulary.types.length),
      segments: ends.length ? segments([...source.vocabulary.encode(tokens), EOS], ends) : [],
      n_best: found.map(translation),
      greedy: translation(greedy),
      steps: (await model.write(encoded, found[0].ids)).map(stepAnswer),
      tree: beamTree(watched, found, beamSize, about.length_penalty).map((node) => ({
        ...node,
        token: target.vocabulary.types[node.token],
      })),
    };
  }

  /** @param {{text: string, target: string}} question */
  async function read({ text, target: written }) {
    const tokens = sourceOf(text);
    const wanted = target.tokenizer.tokenize(written);
    if (wanted.length >= about.max_length)
      throw new Refused(
        `the translation has ${wanted.length} tokens; at most ${about.max_length - 1} are read: shorten it`,
      );
    if (!tokens.length) return { source: [], target: [], tokens: [], steps: [] };
    const encoded = await model.encode(source.vocabulary.encode(tokens), []);
    const all = [...wanted, EOS_TOKEN];
    const steps = await model.write(encoded, [...target.vocabulary.encode(wanted), EOS]);
    return {
      source: described([...tokens, EOS_TOKEN], source.tokenizer.pieces),
      target: described(all, target.tokenizer.pieces),
      tokens: all,
      steps: steps.map(stepAnswer),
    };
  }

  /** @param {import("./model.js").Taken} taken */
  function stepAnswer({ chosen, probability, place, likeliest, trace }) {
    const { types } = target.vocabulary;
    const entry = {
      token: types[chosen],
      probability,
      place,
      likeliest: likeliest.map(([id, p]) => ({ token: types[id], probability: p })),
      query: numbers(trace.query),
      context: numbers(trace.context),
    };
    if (!trace.weights) return { ...entry, weights: null };
    const heads = rows(trace.weights);
    const weights = heads[0].map((_, s) => heads.reduce((sum, head) => sum + head[s], 0) / heads.length);
    return {
      ...entry,
      weights,
      heads: heads.length > 1 ? heads : null,
      scores: rows(trace.scores),
      parts: numbers(trace.contributions),
      centre: trace.centre ? numbers(trace.centre) : null,
      window: config.window,
      coverage: trace.coverage ? numbers(trace.coverage) : null,
    };
  }

  return { "/api/translate": translate, "/api/explain": explain, "/api/read": read };
}

const EMPTY = { text: "", tokens: [], score: 0 };
const NOTHING = {
  source: [],
  target: [],
  ...EMPTY,
  source_rarity: 0,
  segments: [],
  n_best: [],
  greedy: EMPTY,
  steps: [],
  tree: [],
};

/** How rare the words of a text are, as `Codec.rarity` has it. @param {string} text @param {number[]} ids
 * @param {number} size of the vocabulary */
function rarity(text, ids, size) {
  const logs = ids.map((id) => Math.log(id === UNK ? size : id + 1));
  return logs.reduce((a, b) => a + b, 0) / Math.max(1, [...text.normalize("NFC").replace(/\s/gu, "")].length);
}

/** The numbers of a tensor; what is not finite is as good as 0 here. @param {any} tensor @returns {number[]} */
const numbers = ({ data }) => Array.from(data, (x) => (Number.isFinite(x) ? x : 0));

/** @param {any} tensor @returns {number[][]} */
function rows(tensor) {
  const all = numbers(tensor);
  const [count, size] = tensor.dims;
  return Array.from({ length: count }, (_, i) => all.slice(i * size, (i + 1) * size));
}

/** The number of each source position's segment: one begins behind the ids that end one, but not before such an id, nor
 * before the end. @param {number[]} ids @param {number[]} ends */
function segments(ids, ends) {
  let number = 0;
  return ids.map((id, s) => {
    if (s > 0 && ends.includes(ids[s - 1]) && !ends.includes(id) && id !== EOS) number++;
    return number;
  });
}
