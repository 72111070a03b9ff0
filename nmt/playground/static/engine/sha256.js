// @ts-check
/** SHA-256 (FIPS 180-4). Browsers have it, too, but not for a page that comes by plain HTTP. */

const PRIMES = [...Array(312).keys()].filter((n) => n > 1 && [...Array(n).keys()].every((d) => d < 2 || n % d));
const fraction = (/** @type {number} */ x) => ((x % 1) * 2 ** 32) | 0;
const FIRST = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const CONSTANTS = PRIMES.slice(0, 64).map((prime) => fraction(Math.cbrt(prime)));

const turned = (/** @type {number} */ x, /** @type {number} */ by) => (x >>> by) | (x << (32 - by));

/** The digest in hexadecimal digits. @param {Uint8Array} bytes */
export function sha256(bytes) {
  const padded = new Uint8Array(64 * Math.ceil((bytes.length + 9) / 64));
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(8 * bytes.length));
  const state = Int32Array.from(FIRST);
  for (let at = 0; at < padded.length; at += 64) compress(state, view, at);
  return [...state].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

const words = new Int32Array(64);

/** Section 6.2.2: a block of 64 bytes. @param {Int32Array} state @param {DataView} view @param {number} at */
function compress(state, view, at) {
  for (let i = 0; i < 16; i++) words[i] = view.getInt32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const [x, y] = [words[i - 15], words[i - 2]];
    const before = turned(x, 7) ^ turned(x, 18) ^ (x >>> 3);
    words[i] = words[i - 16] + before + words[i - 7] + (turned(y, 17) ^ turned(y, 19) ^ (y >>> 10));
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const mixed = (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g));
    const first = (h + mixed + CONSTANTS[i] + words[i]) | 0;
    const second = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((value, i) => (state[i] += value));
}
