// @ts-check
/** Tokens ↔ ids. The first four types are special; a text that reads like one of them is none. */

export const [UNK, PAD, BOS, EOS] = [0, 1, 2, 3];
export const [UNK_TOKEN, EOS_TOKEN] = ["<unk>", "<eos>"];

/** @param {string[]} types all types, by their ids */
export function vocabulary(types) {
  const ids = new Map(types.slice(EOS + 1).map((token, i) => [token, EOS + 1 + i]));
  return {
    types,
    encode: (/** @type {string[]} */ tokens) => tokens.map((token) => ids.get(token) ?? UNK),
    decode: (/** @type {number[]} */ chosen) => chosen.map((id) => types[id]),
  };
}

/** @typedef {ReturnType<typeof vocabulary>} Vocabulary */
