// sentencepiece in JavaScript: text to subwords, by a unigram model (Kudo 2018) or by merges (Sennrich et al. 2016).

import { NORMAL, readModel, UNUSED, USER_DEFINED } from "./model_file.js";
import { normalizer } from "./normalizer.js";

const UNKNOWN_PENALTY = 10; // below the score of the least likely piece

// A function from text to its pieces. `bytes` are those of a model's file; one with symbols of its user's is refused.
export function segmenter(bytes) {
  const model = readModel(bytes);
  if (model.pieces.some(({ type }) => type === USER_DEFINED)) throw new Error("a sentencepiece model with own symbols");
  const pieces = new Map(
    model.pieces.filter(({ type }) => type === NORMAL || type === UNUSED).map((piece) => [piece.text, piece]),
  );
  const normalize = normalizer(model);
  const cut = model.isBpe ? merging(pieces) : unigram(pieces);
  return (text) => joined(cut(Array.from(normalize(text))), pieces);
}

// The pieces with neighbours that the model does not know joined to one.
function joined(found, pieces) {
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

// The most likely segmentation (Viterbi), in numbers of 32 bits as sentencepiece has them.
function unigram(pieces) {
  const scores = [...pieces.values()].filter(({ type }) => type === NORMAL).map(({ score }) => score);
  const unknown = Math.fround(scores.reduce((a, b) => Math.min(a, b), Infinity) - UNKNOWN_PENALTY);
  const root = trie(pieces);
  return (characters) => {
    const best = characters.map(() => null); // of each end: score, where the last piece begins
    const reach = (end, score, begin) => {
      if (best[end - 1] === null || score > best[end - 1].score) best[end - 1] = { score: Math.fround(score), begin };
    };
    for (let begin = 0; begin < characters.length; begin++) {
      const before = begin ? best[begin - 1].score : 0;
      let node = root, single = false;
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

function trie(pieces) {
  const root = { next: new Map(), piece: null };
  for (const piece of pieces.values()) {
    let node = root;
    for (const character of piece.text) {
      if (!node.next.has(character)) node.next.set(character, { next: new Map(), piece: null });
      node = node.next.get(character);
    }
    node.piece = piece;
  }
  return root;
}

// Neighbours are merged as long as any two make a piece: those of the highest score first, the leftmost of several.
function merging(pieces) {
  return (characters) => {
    const parts = [...characters];
    const score = (i) => pieces.get(parts[i] + parts[i + 1])?.score ?? -Infinity;
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
