// @ts-check
/** A task's vocabularies, its batches, and the pairs that are held out: never trained on. */

import { generatorOf } from "./random.js";
import { batchOf, pairsOf, SPECIALS, TASKS, UNK } from "./tasks.js";

/** @import { Batch, Pair } from "./tasks.js" */
/** @typedef {ReturnType<typeof dataOf>} Data */

const HELD_OUT = 100;
const SEEN = 5000; // pairs that make the vocabularies
export const BATCH = 32;

/** @param {string} task one of TASKS, or `pairs` @param {number} seed of the batches; the pairs held out are always the same
 * @param {string} [text] the pairs, of which one in ten is held out, at most 100 */
export function dataOf(task, seed, text = "") {
  const { draw, joined, most, held, seen } = task === "pairs" ? ofPairs(pairsOf(text)) : ofTask(TASKS[task]);
  const heldOut = new Set(held.map(key));
  const source = vocabularyOf(seen.map((pair) => pair.source));
  const target = vocabularyOf(seen.map((pair) => pair.target));

  /** @param {Pair[]} pairs @returns {Batch} */
  const encoded = (pairs) =>
    batchOf(
      pairs.map((p) => source.encode(p.source)),
      pairs.map((p) => target.encode(p.target)),
    );

  /** The batch of an update: the same for each model of a seed. @param {number} update */
  function batch(update) {
    const random = generatorOf(seed, 2, update);
    const pairs = [];
    while (pairs.length < BATCH) {
      const pair = draw(random);
      if (!heldOut.has(key(pair))) pairs.push(pair);
    }
    return encoded(pairs);
  }
  return { source, target, held, encoded, batch, joined, most };
}

const key = (/** @type {Pair} */ pair) => pair.source.join(" ");

/** @param {import("./tasks.js").Task} task */
function ofTask(task) {
  const random = generatorOf(0, 1);
  /** @type {Map<string, Pair>} */
  const held = new Map();
  while (held.size < HELD_OUT) {
    const pair = task.draw(random);
    held.set(key(pair), pair);
  }
  return { ...task, held: [...held.values()], seen: Array.from({ length: SEEN }, () => task.draw(random)) };
}

/** @param {Pair[]} pairs */
function ofPairs(pairs) {
  const seen = [...pairs];
  const random = generatorOf(0, 1);
  const count = Math.min(HELD_OUT, Math.floor(pairs.length / 10));
  const held = Array.from({ length: count }, () => seen.splice(Math.floor(random() * seen.length), 1)[0]);
  const draw = (/** @type {() => number} */ next) => seen[Math.floor(next() * seen.length)];
  return { draw, joined: " ", most: Math.max(...pairs.map(({ target }) => target.length)) + 3, held, seen };
}

/** @param {string[][]} sentences */
function vocabularyOf(sentences) {
  const tokens = [...SPECIALS, ...[...new Set(sentences.flat())].sort()];
  const ids = new Map(tokens.map((token, id) => [token, id]));
  return { tokens, encode: (/** @type {string[]} */ sentence) => sentence.map((token) => ids.get(token) ?? UNK) };
}

/** Exact matches by length of the source: at most four ranges of lengths with about as many pairs each.
 * @param {Pair[]} pairs @param {boolean[]} exact */
export function byLength(pairs, exact) {
  const order = [...pairs.keys()].sort((a, b) => pairs[a].source.length - pairs[b].source.length);
  const length = (/** @type {number} */ i) => pairs[order[i]].source.length;
  const ranges = [];
  for (let from = 0; from < order.length;) {
    let to = Math.min(order.length, from + Math.ceil(order.length / 4));
    while (to < order.length && length(to) === length(to - 1)) to++;
    const right = order.slice(from, to).filter((i) => exact[i]).length;
    ranges.push({ low: length(from), high: length(to - 1), pairs: to - from, right });
    from = to;
  }
  return ranges;
}
