// @ts-check
/** Case as marks between lower-cased pieces of words, as in nmt/text/tokenizers/case.py: "Ein T-Shirt" is
 * ⇧ ein ⇪ t- ⇧ shirt. */

import { SPACE_MARK } from "./normalizer.js";

const [TITLE, CAPITALS, SMALL] = ["⇧", "⇪", "⇩"].map((sign) => sign + SPACE_MARK);
const MARKS = new Set([TITLE, CAPITALS, SMALL]);
const BEGIN = new RegExp(`^${SPACE_MARK}`);
const LETTER = /^\p{L}$/u;

/** The tokens of some words, of which `cut` makes pieces of a space mark and a word, from those that are known. A word
 * whose marks would not give it back is cut as it is.
 * @param {string[]} words @param {(word: string) => string[]} cut @param {{has(piece: string): boolean}} known */
export function cased(words, cut, known) {
  return words.flatMap((word) => {
    const tokens = marked(word).flatMap(([mark, text], number) => {
      const pieces = cut(SPACE_MARK + text);
      return [...(mark ? [mark] : []), ...(number ? inside(pieces, known) : pieces)];
    });
    return unmarked(tokens) === SPACE_MARK + word ? tokens : cut(SPACE_MARK + word);
  });
}

/** The text of pieces, joined, with its case; pieces that begin a word begin with "▁". @param {string[]} tokens */
export function unmarked(tokens) {
  let text = "";
  let mark = SMALL;
  let isNew = false;
  for (const token of tokens) {
    if (MARKS.has(token)) {
      [mark, isNew] = [token, true];
      continue;
    }
    if (token.startsWith(SPACE_MARK) && !isNew) mark = SMALL;
    isNew = false;
    const characters = Array.from(token);
    if (mark === CAPITALS) text += characters.map(asCapital).join("");
    else if (mark === TITLE && characters.some(hasCase)) {
      const place = characters.findIndex(hasCase);
      text += characters.with(place, asCapital(characters[place])).join("");
      mark = SMALL;
    } else text += token;
  }
  return text;
}

/** The parts of a word, lower-cased: each with the mark before it, or with the empty string. @param {string} word */
function marked(word) {
  const characters = Array.from(word);
  /** @type {(boolean | null)[]} */
  const following = []; // of each character whether the next letter behind it is a capital
  characters.reduceRight((capital, character, place) => {
    following[place] = capital;
    return hasCase(character) ? isCapital(character) : capital;
  }, /** @type {boolean | null} */ (null));
  /** @type {[string, string][]} */
  const parts = [["", ""]];
  let capitals = false;
  characters.forEach((character, place) => {
    let mark = "";
    if (isCapital(character)) {
      const beginsName = following[place] === false && !LETTER.test(characters[place - 1] ?? "");
      if (!capitals || beginsName) {
        mark = following[place] ? CAPITALS : TITLE;
        capitals = mark === CAPITALS;
      }
      character = character.toLowerCase();
    } else if (capitals && hasCase(character)) {
      mark = SMALL;
      capitals = false;
    }
    if (!mark) parts[parts.length - 1][1] += character;
    else if (parts.length === 1 && !Array.from(parts[0][1]).some(hasCase)) parts[0] = [mark, parts[0][1] + character];
    else parts.push([mark, character]);
  });
  return parts;
}

/** The pieces of a word as they are inside another one: the first without its space mark, in the longest pieces.
 * @param {string[]} pieces @param {{has(piece: string): boolean}} known */
function inside(pieces, known) {
  let rest = Array.from(pieces[0].replace(BEGIN, ""));
  const found = [];
  while (rest.length) {
    let end = rest.length;
    while (end > 1 && !known.has(rest.slice(0, end).join(""))) end--;
    found.push(rest.slice(0, end).join(""));
    rest = rest.slice(end);
  }
  return [...found, ...pieces.slice(1)];
}

/** Whether it is a capital letter that one small letter belongs to, and that belongs to this one. @param {string} character */
function isCapital(character) {
  const small = character.toLowerCase();
  return small !== character && Array.from(small).length === 1 && small.toUpperCase() === character;
}

/** Whether it is such a capital letter, or its small one. @param {string} character */
function hasCase(character) {
  return isCapital(character) || asCapital(character) !== character;
}

/** The capital letter of a small one, if each belongs to the other; anything else as it is. @param {string} character */
function asCapital(character) {
  const capital = character.toUpperCase();
  const belongs = Array.from(capital).length === 1 && isCapital(capital) && capital.toLowerCase() === character;
  return belongs ? capital : character;
}
