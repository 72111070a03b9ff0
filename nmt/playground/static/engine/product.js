// @ts-check
/** The product C += A·B of matrices of 32-bit numbers: as loops, and as WebAssembly whose instructions take four numbers.
 *
 * The module is assembled here, from its instructions' codes (WebAssembly core specification 2.0, chapter 5). Each of its
 * functions adds to a block of `rows` × 4 `vectors` of C, which stays in registers over all of k, and goes on with the
 * rows below.
 */

const I32 = 0x7f;
const V128 = 0x7b;
const PARAMETERS = ["c", "a", "b", "cRow", "aRow", "aStep", "bStep", "k", "blocks"];
/** The blocks: rows and vectors of four columns. @type {[number, number][]} */
const BLOCKS = [
  [4, 2],
  [4, 1],
  [1, 2],
  [1, 1],
];

/** @param {number} value an unsigned integer @returns {number[]} */
function leb(value) {
  const bytes = [];
  do {
    bytes.push((value & 127) | (value > 127 ? 128 : 0));
    value >>>= 7;
  } while (value);
  return bytes;
}

/** @param {number} id @param {number[]} content */
const section = (id, content) => [id, ...leb(content.length), ...content];
/** @param {number[][]} items */
const list = (items) => [...leb(items.length), ...items.flat()];
/** @param {string} text */
const name = (text) => [...leb(text.length), ...[...text].map((letter) => letter.charCodeAt(0))];

/** The body of a block's function. @param {number} rows @param {number} vectors */
function body(rows, vectors) {
  const [c, a, b, cRow, aRow, aStep, bStep, k, blocks] = PARAMETERS.keys();
  const each = (/** @type {number} */ n, /** @type {(i: number) => number[]} */ make) =>
    [...Array(n).keys()].flatMap(make);
  const get = (/** @type {number} */ i) => [0x20, i];
  const set = (/** @type {number} */ i) => [0x21, i];
  const add = [0x6a];
  const constant = (/** @type {number} */ i) => [0x41, ...leb(i)];
  const moved = (/** @type {number} */ local, /** @type {number} */ by) => [
    ...get(local),
    ...get(by),
    ...add,
    ...set(local),
  ];
  const down = (/** @type {number} */ local, /** @type {number[]} */ inside) => [
    0x03,
    0x40,
    ...inside,
    ...get(local),
    ...constant(1),
    0x6b,
    0x22,
    local,
    0x0d,
    0x00,
    0x0b,
  ];
  const [left, ofB, first] = [9, 10, 11]; // locals: steps left, B's row, then A's and C's rows
  const ofA = (/** @type {number} */ r) => first + r;
  const ofC = (/** @type {number} */ r) => first + rows + r;
  const sum = (/** @type {number} */ r, /** @type {number} */ q) => first + 2 * rows + r * vectors + q;
  const value = (/** @type {number} */ q) => first + 2 * rows + rows * vectors + q;
  const splat = value(vectors);
  const step = [
    ...each(vectors, (q) => [...get(ofB), 0xfd, 0x00, 0, ...leb(16 * q), ...set(value(q))]),
    ...each(rows, (r) => [
      ...[...get(ofA(r)), 0xfd, 0x09, 0, 0, ...set(splat)],
      ...each(vectors, (q) => [
        ...[...get(sum(r, q)), ...get(splat), ...get(value(q))],
        ...[0xfd, 0xe6, 0x01, 0xfd, 0xe4, 0x01, ...set(sum(r, q))],
      ]),
      ...moved(ofA(r), aStep),
    ]),
    ...moved(ofB, bStep),
  ];
  const block = [
    ...each(rows, (r) => [
      ...(r ? [...get(ofA(r - 1)), ...get(aRow), ...add] : get(a)),
      ...set(ofA(r)),
      ...(r ? [...get(ofC(r - 1)), ...get(cRow), ...add] : get(c)),
      ...set(ofC(r)),
      ...each(vectors, (q) => [...get(ofC(r)), 0xfd, 0x00, 0, ...leb(16 * q), ...set(sum(r, q))]),
    ]),
    ...[...get(b), ...set(ofB), ...get(k), ...set(left)],
    ...down(left, step),
    ...each(rows, (r) => each(vectors, (q) => [...get(ofC(r)), ...get(sum(r, q)), 0xfd, 0x0b, 0, ...leb(16 * q)])),
    ...each(rows, () => [...moved(c, cRow), ...moved(a, aRow)]),
  ];
  const locals = list([
    [...leb(2 + 2 * rows), I32],
    [...leb(rows * vectors + vectors + 1), V128],
  ]);
  const code = [...locals, ...down(blocks, block), 0x0b];
  return [...leb(code.length), ...code];
}

/** The functions of a memory, in the order of BLOCKS; null where the engine has no such instructions.
 * @param {WebAssembly.Memory} memory @returns {((...numbers: number[]) => void)[] | null} */
function assembled(memory) {
  const bytes = [
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, list([[0x60, ...list(PARAMETERS.map(() => [I32])), 0]])),
    ...section(2, list([[...name("e"), ...name("m"), 0x02, 0x00, 0x01]])),
    ...section(3, list(BLOCKS.map(() => [0]))),
    ...section(7, list(BLOCKS.map((_, i) => [...name(`f${i}`), 0x00, i]))),
    ...section(10, list(BLOCKS.map(([rows, vectors]) => body(rows, vectors)))),
  ];
  try {
    const made = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(bytes)), { e: { m: memory } });
    return BLOCKS.map((_, i) => /** @type {any} */ (made.exports)[`f${i}`]);
  } catch {
    return null;
  }
}

/** @typedef {(c: number, cRow: number, a: number, aRow: number, aStep: number, b: number, bStep: number, m: number, n: number, k: number) => void} Product */

/** C (m × n) += A (m × k) · B (k × n). Places and steps count numbers; A's next column is `aStep` further, so that A may
 * be a transposed matrix. @param {Float32Array} f @returns {Product} */
export function loops(f) {
  return (c, cRow, a, aRow, aStep, b, bStep, m, n, k) => {
    for (let i = 0; i < m; i++)
      for (let p = 0; p < k; p++) {
        const factor = f[a + i * aRow + p * aStep];
        const [to, from] = [c + i * cRow, b + p * bStep];
        for (let j = 0; j < n; j++) f[to + j] += factor * f[from + j];
      }
  };
}

/** The fastest product in a memory. @param {WebAssembly.Memory} memory @param {Float32Array} f its numbers
 * @returns {Product} */
export function fastest(memory, f) {
  const [plain, blocks] = [loops(f), assembled(memory)];
  if (!blocks) return plain;
  return (c, cRow, a, aRow, aStep, b, bStep, m, n, k) => {
    const wide = n & ~3;
    const [fours, rest] = [m >> 2, m & 3];
    if (k)
      for (let j = 0; j < wide;) {
        const one = wide - j < 8 ? 1 : 0;
        const [top, below] = [fours * 4 * cRow, fours * 4 * aRow];
        const steps = /** @type {const} */ ([4 * cRow, 4 * aRow, 4 * aStep, 4 * bStep, k]);
        if (fours) blocks[one](4 * (c + j), 4 * a, 4 * (b + j), ...steps, fours);
        if (rest) blocks[2 + one](4 * (c + top + j), 4 * (a + below), 4 * (b + j), ...steps, rest);
        j += one ? 4 : 8;
      }
    if (wide < n) plain(c + wide, cRow, a, aRow, aStep, b + wide, bStep, m, n - wide, k);
  };
}
