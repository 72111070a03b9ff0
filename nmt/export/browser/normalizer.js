// @ts-check
/** Text in one form, as in nmt/text/normalization.py; and as sentencepiece sees it: characters replaced by its table,
 * single spaces, each written as "▁". */

export const SPACE_MARK = "▁";
const SPACE = 32;

const JOINING =
  String.raw`\ufe0f\u0600-\u109f\u1700-\u1cff\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc` +
  String.raw`\u{10a00}-\u{11fff}\u{1e900}-\u{1e95f}\u2190-\u2bff\u{1f000}-\u{1faff}`;
const MARKS = String.raw`\xad\u061c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f`;
const INVISIBLE = new RegExp(`(?<![${JOINING}])(?:\\u200b|\\u200c|\\u200d)(?![${JOINING}])|[${MARKS}]`, "gu");

/** In NFC, without characters that nobody sees. @type {(text: string) => string} */
export const normalized = (text) => text.replace(INVISIBLE, "").normalize("NFC");

/** A function from text to normalised text. The table holds a trie, as in Darts-clone (an array of units of 32 bits: a
 * unit at place i leads to the places i ⊕ offset ⊕ byte), and the texts that its leaves point to, each ended by a 0.
 * @param {import("./model_file.js").Contents} model */
export function normalizer({ charsMap, dummyPrefix, extraSpaces }) {
  const view = new DataView(charsMap.buffer, charsMap.byteOffset, charsMap.byteLength);
  const size = charsMap.length ? view.getUint32(0, true) : 0;
  const units = Uint32Array.from({ length: size / 4 }, (_, i) => view.getUint32(4 + 4 * i, true));
  const texts = charsMap.subarray(4 + size);
  const encoder = new TextEncoder(),
    decoder = new TextDecoder();

  /** The bytes that replace the longest known beginning of a text at a place, or else its first character; the place
   * behind. @param {Uint8Array} bytes @param {number} begin @returns {[Uint8Array, number]} */
  function replaced(bytes, begin) {
    let length = 0,
      text = 0;
    if (units.length) {
      let node = offset(units[0]);
      for (let i = begin; i < bytes.length; i++) {
        node ^= bytes[i];
        const unit = units[node];
        if ((unit & 0x800000ff) >>> 0 !== bytes[i]) break;
        node ^= offset(unit);
        if ((unit >>> 8) & 1) {
          length = i + 1 - begin;
          text = units[node] & 0x7fffffff;
        }
      }
    }
    if (length) return [texts.subarray(text, texts.indexOf(0, text)), begin + length];
    const end = begin + sizeOfCharacter(bytes[begin]);
    return [bytes.subarray(begin, end), end];
  }

  return (/** @type {string} */ input) => {
    const bytes = encoder.encode(input);
    /** @type {number[]} */
    const output = [];
    let afterSpace = !extraSpaces; // where the next space is left out
    for (let place = 0; place < bytes.length;) {
      /** @type {Uint8Array} */
      let part;
      [part, place] = replaced(bytes, place);
      let first = 0;
      while (afterSpace && part[first] === SPACE) first++;
      if (first === part.length) continue;
      for (const byte of part.subarray(first)) output.push(byte);
      afterSpace = !extraSpaces && part[part.length - 1] === SPACE;
    }
    while (!extraSpaces && output[output.length - 1] === SPACE) output.pop();
    const text = decoder.decode(Uint8Array.from(output)).replaceAll(" ", SPACE_MARK);
    return text && dummyPrefix ? SPACE_MARK + text : text;
  };
}

const offset = (/** @type {number} */ unit) => (unit >>> 10) << ((unit & 512) >>> 6);

const sizeOfCharacter = (/** @type {number} */ byte) => (byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4);
