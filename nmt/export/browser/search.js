// @ts-check
/** Beam search for one sentence, by the rules of nmt/decoding/beam_search.py. It knows no model: it sees log-probabilities, and which
 * rows of the state go on. K are the hypotheses that are kept, V the target types. */

import { BOS, EOS, PAD } from "./vocabulary.js";

/** @typedef {{ids: number[], score: number}} Hypothesis with the end token, if it was reached */
/** @typedef {{score: number, parent: number, token: number}} Candidate `score`: the log-probability of all its tokens */
/** @typedef {{candidates: Candidate[], goingOn: number[]}} Choice a step's best candidates, and the places of those kept */
/** @typedef {(tokens: number[], parents: number[], state: any) => Promise<[Float32Array, any]>} Step the last tokens of
 * some hypotheses, and the rows that they have in the state → log-probabilities (K V) of the next ones, the new state */

const LONGEST_LOOP = 6; // tokens

/** ((5 + length) / 6)^α, by which a log-probability is divided; the end token counts (Wu et al. 2016, equation 14).
 * @param {number} length @param {number} alpha */
export const lengthPenalty = (length, alpha) => ((5 + length) / 6) ** alpha;

/** The hypotheses of a sentence, best first, at most as many as are kept. One ends when its end token is among the K best
 * continuations; the search ends when K have, or at the largest length, where unfinished ones compete as they are.
 *
 * All begin with the ids of `prefix`, whatever these cost. Behind it, no id with `notThrice` ends three equal sequences in a row.
 * `watch` sees what each step chose from: the 2K best.
 * @param {Step} step @param {any} state that of one hypothesis
 * @param {{beamSize: number, alpha: number, maxLength: number, prefix?: number[], notThrice?: boolean[], watch?: (choice: Choice) => void}} options
 * @returns {Promise<Hypothesis[]>} */
export async function beamSearch(step, state, { beamSize, alpha, maxLength, prefix = [], notThrice = [], watch }) {
  /** @type {Hypothesis[]} */
  const ended = [];
  /** @type {Hypothesis[]} */
  let kept = [{ ids: [], score: 0 }];
  let parents = [0];
  for (let length = 1; length <= maxLength && ended.length < beamSize; length++) {
    const tokens = kept.map(({ ids }) => ids[ids.length - 1] ?? BOS);
    const [logProbabilities, next] = await step(tokens, parents, state);
    const types = logProbabilities.length / kept.length;
    if (prefix[length - 1] === undefined)
      kept.forEach(({ ids }, row) => {
        for (const token of thirds(ids)) if (notThrice[token]) logProbabilities[row * types + token] = -Infinity;
      });
    const scores = kept.map(({ score }) => score);
    const best = candidates(logProbabilities, scores, 2 * beamSize, prefix[length - 1]);
    const ids = best.map(({ parent, token }) => [...kept[parent].ids, token]);
    const goingOn = best.flatMap(({ token }, place) => (token === EOS ? [] : [place])).slice(0, beamSize);
    best.slice(0, beamSize).forEach(({ token, score }, place) => {
      if (token === EOS) ended.push({ ids: ids[place], score: score / lengthPenalty(length, alpha) });
    });
    watch?.({ candidates: best, goingOn });
    kept = goingOn.map((place) => ({ ids: ids[place], score: best[place].score }));
    parents = goingOn.map((place) => best[place].parent);
    state = next;
    if (!kept.length) break;
  }
  if (ended.length < beamSize) {
    const penalty = lengthPenalty(maxLength, alpha);
    ended.push(...kept.map(({ ids, score }) => ({ ids, score: score / penalty })));
  }
  return ended.sort((a, b) => b.score - a.score).slice(0, beamSize);
}

/** The tokens that would end the third of three equal sequences in a row. @param {number[]} ids */
function* thirds(ids) {
  const end = ids.length;
  for (let n = 1; n <= LONGEST_LOOP && 3 * n - 1 <= end; n++)
    if (ids.slice(end - 2 * n + 1).every((id, i) => id === ids[end - 3 * n + 1 + i])) yield ids[end - n];
}

/** The `count` best continuations, best first, without those that are impossible: another token than the wanted one, if
 * one is wanted; padding and the beginning, which no target holds; those of probability 0.
 * @param {Float32Array} logProbabilities (K V) @param {number[]} scores (K) of the hypotheses so far
 * @param {number} count @param {number} [wanted] @returns {Candidate[]} */
export function candidates(logProbabilities, scores, count, wanted) {
  const types = logProbabilities.length / scores.length;
  const [first, behind] = wanted === undefined ? [0, types] : [wanted, wanted + 1];
  /** @type {Candidate[]} */
  const best = [];
  let least = -Infinity; // what one must exceed to be among them
  scores.forEach((before, parent) => {
    for (let token = first; token < behind; token++) {
      const score = Math.fround(logProbabilities[parent * types + token] + before);
      if (score <= least || token === PAD || token === BOS) continue;
      let place = best.length;
      while (place > 0 && best[place - 1].score < score) place--;
      best.splice(place, 0, { score, parent, token });
      if (best.length > count) best.pop();
      if (best.length === count) least = best[count - 1].score;
    }
  });
  return best;
}
