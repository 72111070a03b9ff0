// Tokens as nmt's `sentencepiece` tokenizer makes them, and text of tokens.

import { SPACE_MARK } from "./normalizer.js";
import { segmenter } from "./segmentation.js";

// What Python's str.split takes for whitespace.
const SPACES = /[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u;

const words = (text) => text.split(SPACES).filter(Boolean);

// A function from text to tokens; `model` are the bytes of a sentencepiece model.
export function tokenizer(model, lowercase) {
  const cut = segmenter(model);
  return (text) => {
    const line = words(text.replaceAll(SPACE_MARK, " ")).join(" ");
    return cut(lowercase ? line.toLowerCase() : line);
  };
}

export const detokenize = (tokens) => words(tokens.join("").replaceAll(SPACE_MARK, " ")).join(" ");
