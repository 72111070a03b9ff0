// @ts-check
/** Tokens as people read them, as in nmt/plots/labels.py, and the words that they are parts of. */

import { SPACE_MARK } from "./normalizer.js";
import { EOS_TOKEN, UNK_TOKEN } from "./vocabulary.js";

const LONGEST = 40; // characters of a label
const PUNCTUATION = /^\p{P}+$/u;
const LETTER_OR_NUMBER = /[\p{L}\p{N}]/u;
const HIDDEN = /[\p{C}\p{Z}]/u;

/** Each token, its label, and the number of the word that it is part of. @param {string[]} tokens
 * @param {boolean} pieces whether tokens are parts of words */
export function described(tokens, pieces) {
  const marks = tokens[tokens.length - 1] === EOS_TOKEN;
  const inner = marks ? tokens.slice(0, -1) : tokens;
  const sizes = pieces ? sizesOfWords(inner) : inner.map(() => 1);
  const numbers = sizes.flatMap((size, number) => new Array(size).fill(number));
  if (marks) numbers.push(sizes.length);
  return labels(tokens).map(({ label, kind }, i) => ({ token: tokens[i], label, kind, word: numbers[i] }));
}

/** How many pieces each word has, and each punctuation mark at a word's ends, with the space marks before them.
 * @param {string[]} pieces */
function sizesOfWords(pieces) {
  // One letter per piece: m is a space mark by itself, p punctuation, w anything else; a capital has a space mark.
  // A mark of case belongs to the word behind it, as a space mark does.
  const kinds = pieces.map((piece, i) => {
    if (/^[⇧⇪⇩]▁$/.test(piece) && pieces[i + 1]?.startsWith(SPACE_MARK)) return "m";
    const bare = piece.replaceAll(SPACE_MARK, "");
    const kind = !bare ? "m" : PUNCTUATION.test(bare) ? "p" : "w";
    return bare && piece.startsWith(SPACE_MARK) ? kind.toUpperCase() : kind;
  });
  return Array.from(kinds.join("").matchAll(/m*[wW](?:[wp]*w)?|m*[pP]|m+/g), ([word]) => word.length);
}

/** @param {string[]} tokens @returns {{label: string, kind: string}[]} */
function labels(tokens) {
  const special = (/** @type {string | undefined} */ token) => token === EOS_TOKEN || token === UNK_TOKEN;
  const begins = (/** @type {string} */ token) => token.startsWith(SPACE_MARK) && token.length > 1;
  const isSubwords = tokens.some((token) => begins(token) && token !== SPACE_MARK + SPACE_MARK);
  return tokens.map((token, i) => {
    if (token === EOS_TOKEN) return { label: "(end)", kind: "end" };
    if (token === UNK_TOKEN) return { label: "(unknown)", kind: "unknown" };
    if (token === SPACE_MARK) return { label: "␣", kind: "space" };
    if (!isSubwords) return { label: oneLine(token), kind: "word" };
    const text = token.replace(/^▁/, "").replace(/▁$/, "") || token; // a mark of case ends with it
    const following = tokens[i + 1] ?? EOS_TOKEN;
    const ends = [Array.from(text).at(-1) ?? "", Array.from(following)[0] ?? ""];
    const goesOn = !special(following) && ends.every((character) => LETTER_OR_NUMBER.test(character));
    return { label: oneLine(text) + (goesOn ? "-" : ""), kind: "word" };
  });
}

/** @param {string} text */
function oneLine(text) {
  const shown = Array.from(Array.from(text, printable).join(""));
  return shown.length <= LONGEST ? shown.join("") : `${shown.slice(0, LONGEST - 1).join("")}…`;
}

/** A character, or what Python writes for one that cannot be printed. @param {string} character */
function printable(character) {
  if (character === " " || !HIDDEN.test(character)) return character;
  const code = /** @type {number} */ (character.codePointAt(0));
  const [sign, digits] = code < 0x100 ? ["\\x", 2] : code < 0x10000 ? ["\\u", 4] : ["\\U", 8];
  const short = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[character];
  return short ?? sign + code.toString(16).padStart(digits, "0");
}
