// @ts-check
/** A task's vocabularies, its batches, and the pairs that are held out: never trained on. */

import { generatorOf } from "./random.js";
import { batchOf, pairsOf, SPACE, SPECIALS, TASKS, UNK } from "./tasks.js";

/** @import { Start } from "./checkpoint.js" */
/** @import { Batch, Pair } from "./tasks.js" */
/** @typedef {ReturnType<typeof dataOf>} Data */

const HELD_OUT = 100;
const UNKNOWN = 0.1; // of a task's tokens, at most, may be unknown to a checkpoint
const SEEN = 5000; // pairs that make the vocabularies
export const BATCH = 32;

/** @param {string} task one of TASKS, or `pairs` @param {number} seed of the batches; the pairs held out are always the same
 * @param {string} [text] the pairs, of which one in ten is held out, at most 100
 * @param {Pick<Start, "source" | "target"> | null} [tokens] the vocabularies; otherwise those of the pairs */
export function dataOf(task, seed, text = "", tokens = null) {
  const { draw, joined, most, held, seen } = task === "pairs" ? ofPairs(pairsOf(text)) : ofTask(TASKS[task]);
  const heldOut = new Set(held.map(key));
  const source = vocabularyOf(tokens?.source ?? tokensOf(seen.map((pair) => pair.source)));
  const target = vocabularyOf(tokens?.target ?? tokensOf(seen.map((pair) => pair.target)));
  if (tokens) checkTokens(held, source, target);

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
  const written = (/** @type {string[]} */ side) => side.join(joined).replaceAll(SPACE, " ");

  /** Pairs as a table for nmt: those held out, or others to train on. @param {boolean} isHeldOut */
  function table(isHeldOut) {
    const pairs = isHeldOut ? held : seen.filter((pair) => !heldOut.has(key(pair)));
    return ["source\ttarget\n", ...pairs.map((pair) => `${written(pair.source)}\t${written(pair.target)}\n`)].join("");
  }
  return { source, target, held, encoded, batch, joined, most, table };
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
const tokensOf = (sentences) => [...SPECIALS, ...[...new Set(sentences.flat())].sort()];

/** Throws an Error unless a checkpoint knows nearly all tokens of these pairs.
 * @param {Pair[]} pairs @param {{has: (token: string) => boolean}} source @param {{has: (token: string) => boolean}} target */
function checkTokens(pairs, source, target) {
  const all = pairs.flatMap((pair) => [...pair.source, ...pair.target]).length;
  const unknown = pairs.flatMap((pair) => [
    ...pair.source.filter((token) => !source.has(token)),
    ...pair.target.filter((token) => !target.has(token)),
  ]);
  if (unknown.length > UNKNOWN * all)
    throw new Error(`The checkpoint has no token "${unknown[0]}" of this task: choose the one it was trained on.`);
}

/** @param {string[]} tokens */
function vocabularyOf(tokens) {
  const ids = new Map(tokens.map((token, id) => [token, id]));
  return {
    tokens,
    has: (/** @type {string} */ token) => ids.has(token),
    encode: (/** @type {string[]} */ sentence) => sentence.map((token) => ids.get(token) ?? UNK),
  };
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
