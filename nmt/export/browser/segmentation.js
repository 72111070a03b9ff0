// @ts-check
/** sentencepiece in JavaScript: text to subwords, by a unigram model (Kudo 2018) or by merges (Sennrich et al. 2016). */

import { NORMAL, readModel, UNUSED, USER_DEFINED } from "./model_file.js";
import { normalizer } from "./normalizer.js";

/** @typedef {Map<string, import("./model_file.js").Piece>} Pieces by their texts */
/** @typedef {{next: Map<string, Node>, piece: import("./model_file.js").Piece | null}} Node */

const UNKNOWN_PENALTY = 10; // below the score of the least likely piece

/** What the bytes of a model's file say: how to normalise text, how to cut it into pieces, and which pieces there are.
 * A model with symbols of its user's is refused. @param {Uint8Array} bytes */
export function segmenter(bytes) {
  const model = readModel(bytes);
  if (model.pieces.some(({ type }) => type === USER_DEFINED)) throw new Error("a sentencepiece model with own symbols");
  const pieces = new Map(
    model.pieces.filter(({ type }) => type === NORMAL || type === UNUSED).map((piece) => [piece.text, piece]),
  );
  const normalize = normalizer(model);
  const cut = model.isBpe ? merging(pieces) : unigram(pieces);
  const encode = (/** @type {string} */ text) => joined(cut(Array.from(normalize(text))), pieces);
  return { normalize, encode, pieces };
}

/** The pieces with neighbours that the model does not know joined to one. @param {string[]} found @param {Pieces} pieces */
function joined(found, pieces) {
  /** @type {string[]} */
  const all = [];
  let open = false; // whether the last one is unknown
  for (const piece of found) {
    const unknown = !pieces.has(piece);
    if (unknown && open) all[all.length - 1] += piece;
    else all.push(piece);
    open = unknown;
  }
  return all;
}

/** The most likely segmentation (Viterbi), in numbers of 32 bits as sentencepiece has them. @param {Pieces} pieces */
function unigram(pieces) {
  const scores = [...pieces.values()].filter(({ type }) => type === NORMAL).map(({ score }) => score);
  const unknown = Math.fround(scores.reduce((a, b) => Math.min(a, b), Infinity) - UNKNOWN_PENALTY);
  const root = trie(pieces);
  return (/** @type {string[]} */ characters) => {
    /** @type {{score: number, begin: number}[]} */
    const best = []; // of each end: score, where the last piece begins
    const reach = (/** @type {number} */ end, /** @type {number} */ score, /** @type {number} */ begin) => {
      if (best[end - 1] === undefined || score > best[end - 1].score)
        best[end - 1] = { score: Math.fround(score), begin };
    };
    for (let begin = 0; begin < characters.length; begin++) {
      const before = begin ? best[begin - 1].score : 0;
      /** @type {Node | undefined} */
      let node = root;
      let single = false;
      for (let end = begin + 1; end <= characters.length; end++) {
        node = node.next.get(characters[end - 1]);
        if (node === undefined) break;
        if (node.piece === null || node.piece.type === UNUSED) continue;
        reach(end, node.piece.score + before, begin);
        single ||= end === begin + 1;
      }
      if (!single) reach(begin + 1, Math.fround(unknown + before), begin);
    }
    const found = [];
    for (let end = characters.length; end > 0; end = best[end - 1].begin) {
      found.push(characters.slice(best[end - 1].begin, end).join(""));
    }
    return found.reverse();
  };
}

/** @param {Pieces} pieces */
function trie(pieces) {
  /** @returns {Node} */
  const leaf = () => ({ next: new Map(), piece: null });
  const root = leaf();
  for (const piece of pieces.values()) {
    let node = root;
    for (const character of piece.text) {
      const next = node.next.get(character) ?? leaf();
      node.next.set(character, next);
      node = next;
    }
    node.piece = piece;
  }
  return root;
}

/** Neighbours are merged as long as any two make a piece: those of the highest score first, the leftmost of several.
 * @param {Pieces} pieces */
function merging(pieces) {
  return (/** @type {string[]} */ characters) => {
    const parts = [...characters];
    const score = (/** @type {number} */ i) => pieces.get(parts[i] + parts[i + 1])?.score ?? -Infinity;
    const scores = parts.slice(1).map((_, i) => score(i));
    while (scores.length) {
      let best = 0;
      for (let i = 1; i < scores.length; i++) if (scores[i] > scores[best]) best = i;
      if (scores[best] === -Infinity) break;
      parts.splice(best, 2, parts[best] + parts[best + 1]);
      scores.splice(best, 1);
      if (best > 0) scores[best - 1] = score(best - 1);
      if (best < scores.length) scores[best] = score(best);
    }
    return parts;
  };
}
