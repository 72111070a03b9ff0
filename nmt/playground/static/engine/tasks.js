// @ts-check
/** What is learnt: pairs of tokens, drawn by a seed, and batches of them. */

/** @typedef {{source: string[], target: string[]}} Pair */
/** @typedef {{rows: number, sourceLength: number, source: Int32Array, sourceLengths: Int32Array, targetLength: number, target: Int32Array, targetLengths: Int32Array, tokens: number}} Batch ids (S B) and (T B) with the end, padded; `tokens` of the target in all */

export const [UNK, PAD, BOS, EOS] = [0, 1, 2, 3];
export const SPACE = "▁"; // as nmt's tokenizer of characters has it
export const SPECIALS = ["<unk>", "<pad>", "<bos>", "<eos>"];

/** Ids of sentences, each with its end, padded: position after position.
 * @param {number[][]} sentences */
function padded(sentences) {
  const rows = sentences.length;
  const length = Math.max(...sentences.map((ids) => ids.length)) + 1;
  const ids = new Int32Array(length * rows).fill(PAD);
  sentences.forEach((sentence, b) => [...sentence, EOS].forEach((id, t) => (ids[t * rows + b] = id)));
  return {
    length,
    ids,
    lengths: Int32Array.from(sentences, (sentence) => sentence.length + 1),
  };
}

/** @param {number[][]} sources ids without the end @param {number[][]} targets @returns {Batch} */
export function batchOf(sources, targets) {
  const [source, target] = [padded(sources), padded(targets)];
  return {
    ...{
      rows: sources.length,
      sourceLength: source.length,
      source: source.ids,
      sourceLengths: source.lengths,
    },
    ...{
      targetLength: target.length,
      target: target.ids,
      targetLengths: target.lengths,
    },
    tokens: target.lengths.reduce((sum, length) => sum + length, 0),
  };
}

/** @typedef {{draw: (random: () => number) => Pair, joined: string, most: number}} Task a pair at random; what is between two tokens of a text; the most tokens of a target */

const pick = (/** @type {() => number} */ random, /** @type {readonly any[] | string} */ from) =>
  from[Math.floor(random() * from.length)];
const within = (/** @type {() => number} */ random, /** @type {number} */ low, /** @type {number} */ high) =>
  low + Math.floor(random() * (high - low + 1));

/** A word of 2 to 9 letters, and the same from its end. @type {Task} */
const reverse = {
  draw(random) {
    const source = Array.from({ length: within(random, 2, 9) }, () => pick(random, "abcdefghijklmnopqrstuvwxyz"));
    return { source, target: source.toReversed() };
  },
  joined: "",
  most: 14,
};

const MONTHS = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(" ");
const two = (/** @type {number} */ n) => String(n).padStart(2, "0");

/** A date as people write it, and as ISO 8601 does. @type {Task} */
const dates = {
  draw(random) {
    const [year, month] = [within(random, 1900, 2099), within(random, 1, 12)];
    const day = within(random, 1, new Date(year, month, 0).getDate());
    const name = MONTHS[month - 1];
    const forms = [`${day} ${name} ${year}`, `${day}. ${name} ${year}`, `${name} ${day}, ${year}`];
    const text = pick(random, [...forms, `${day}.${month}.${year}`, `${two(day)}.${two(month)}.${year}`]);
    return {
      source: [...text.replaceAll(" ", SPACE)],
      target: [...`${year}-${two(month)}-${two(day)}`],
    };
  },
  joined: "",
  most: 14,
};

const FEWEST = 20; // pairs
const LONGEST = 20; // tokens of a sentence

/** The pairs of a text: a line each, with a tab between both sentences. Words and punctuation are tokens.
 * @param {string} text @returns {Pair[]} each once */
export function pairsOf(text) {
  const tokens = (/** @type {string} */ side) =>
    side.normalize("NFC").match(/[\p{L}\p{M}\p{N}]+|[^\s\p{L}\p{M}\p{N}\p{C}]/gu) ?? [];
  /** @type {Map<string, Pair>} */
  const pairs = new Map();
  text.split("\n").forEach((line, i) => {
    if (!line.trim()) return;
    const [source, target, ...more] = line.split("\t").map(tokens);
    if (!source?.length || !target?.length || more.length)
      throw new Error(`Line ${i + 1} does not have two sentences with a tab between them.`);
    if (Math.max(source.length, target.length) > LONGEST)
      throw new Error(`Line ${i + 1} has more than ${LONGEST} words and signs: leave it out, or shorten it.`);
    if (!pairs.has(source.join(" "))) pairs.set(source.join(" "), { source, target });
  });
  if (pairs.size < FEWEST)
    throw new Error(`At least ${FEWEST} different pairs are needed: paste more (here: ${pairs.size}).`);
  return [...pairs.values()];
}

/** @type {Record<string, Task>} */
export const TASKS = { reverse, dates };
