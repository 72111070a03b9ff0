// @ts-check
/** Text to tokens and back, as each of nmt's tokenizers that needs no rules of a language. */

import { cased, unmarked } from "./case.js";
import { normalized, SPACE_MARK } from "./normalizer.js";
import { segmenter } from "./segmentation.js";

/** What Python's str.split takes for whitespace. */
const SPACES = /[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u;

/** @typedef {(text: string) => string[]} Tokenize */
/** @typedef {(tokens: string[]) => string} Detokenize */

const words = (/** @type {string} */ text) => text.split(SPACES).filter(Boolean);
const single = (/** @type {string} */ text) => words(text).join(" ");
/** The text as sentencepiece sees it, which takes a "▁" for a space. @type {(text: string) => string} */
const line = (text) => single(text.replaceAll(SPACE_MARK, " "));
const lowered = (/** @type {string} */ text, /** @type {boolean} */ lowercase) =>
  lowercase ? text.toLowerCase() : text;

/** The `sentencepiece` tokenizer; `model` are the bytes of its model. @param {Uint8Array} model @param {boolean} lowercase
 * @returns {Tokenize} */
function tokenizer(model, lowercase) {
  const { encode } = segmenter(model);
  return (text) => encode(lowered(line(text), lowercase));
}

/** The text of `sentencepiece`'s tokens. @type {Detokenize} */
const detokenize = (tokens) => line(tokens.join(""));

/** @param {Uint8Array} model @returns {Tokenize} */
function casedTokenizer(model) {
  const { normalize, encode, pieces } = segmenter(model);
  const cut = (/** @type {string} */ word) => encode(word.slice(SPACE_MARK.length));
  return (text) => cased(normalize(line(text)).split(SPACE_MARK).slice(1), cut, pieces);
}

/** Characters as tokens: a space is "▁", and a "▁" itself is two. @param {boolean} lowercase @returns {Tokenize} */
function characters(lowercase) {
  const marked = (/** @type {string} */ c) => (c === " " ? SPACE_MARK : c === SPACE_MARK ? SPACE_MARK + SPACE_MARK : c);
  return (text) => Array.from(single(text), (character) => lowered(marked(character), lowercase));
}

/** @type {Detokenize} */
function spelt(tokens) {
  const bare = (/** @type {string} */ token) => (token === SPACE_MARK ? " " : token.replace(SPACE_MARK, ""));
  return single(tokens.map(bare).join(""));
}

/** The two directions of a tokenizer, by its name in a config; `model` is for the kinds that need one.
 * @param {string} kind @param {boolean} lowercase @param {Uint8Array | null} model @param {boolean} normalize
 * @returns {{tokenize: Tokenize, detokenize: Detokenize, pieces: boolean}} `pieces`: whether tokens are parts of words */
export function tokenizerOf(kind, lowercase, model, normalize) {
  const made = rawTokenizer(kind, lowercase, model);
  return normalize ? { ...made, tokenize: (/** @type {string} */ text) => made.tokenize(normalized(text)) } : made;
}

/** The same of text as it is. @param {string} kind @param {boolean} lowercase @param {Uint8Array | null} model
 * @returns {{tokenize: Tokenize, detokenize: Detokenize, pieces: boolean}} */
function rawTokenizer(kind, lowercase, model) {
  const needed = () => {
    if (model === null) throw new Error(`the tokenizer ${kind} needs its model`);
    return model;
  };
  switch (kind) {
    case "sentencepiece":
      return { tokenize: tokenizer(needed(), lowercase), detokenize, pieces: true };
    case "sentencepiece_cased":
      return { tokenize: casedTokenizer(needed()), detokenize: (tokens) => line(unmarked(tokens)), pieces: true };
    case "whitespace":
      return {
        tokenize: (text) => words(text).map((word) => lowered(word, lowercase)),
        detokenize: (tokens) => tokens.join(" "),
        pieces: false,
      };
    case "char":
      return { tokenize: characters(lowercase), detokenize: spelt, pieces: true };
    default:
      throw new Error(`there is no tokenizer ${kind} here`);
  }
}
