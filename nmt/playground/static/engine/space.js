// @ts-check
/** One memory for all numbers of a model. A matrix is the place of its first number, row after row. */

import { fastest, loops } from "./product.js";

/** @typedef {ReturnType<typeof makeSpace>} Space */

/** A memory of at most so many numbers, of which the machine gives what is used. `plain`: products by loops.
 * @param {number} [numbers] @param {boolean} [plain] */
export function makeSpace(numbers = 1 << 24, plain = false) {
  const memory = new WebAssembly.Memory({ initial: numbers >> 14 });
  const f = new Float32Array(memory.buffer);
  const product = plain ? loops(f) : fastest(memory, f);
  let next = 4;

  /** Room for so many zeros. @param {number} count */
  function zeros(count) {
    const at = next;
    next += (count + 3) & ~3; // vectors of four begin at multiples of four
    if (next > f.length) throw new RangeError("the model and its batch do not fit: lower the sizes");
    f.fill(0, at, next);
    return at;
  }
  return {
    f,
    zeros,
    /** What is free. */
    mark: () => next,
    /** Give back all that was taken since a `mark`. @param {number} mark */
    release: (mark) => void (next = mark),

    /** Y (rows × outputs) += X (rows × inputs) · W, with W (inputs × outputs).
     * @param {number} y @param {number} x @param {number} w @param {number} rows @param {number} inputs
     * @param {number} outputs */
    times: (y, x, w, rows, inputs, outputs) => product(y, outputs, x, inputs, 1, w, outputs, rows, outputs, inputs),

    /** The gradient of a weight (outputs × inputs) += dYᵀ·X, of dY (rows × outputs) and X (rows × inputs).
     * @param {number} dw @param {number} dy @param {number} x @param {number} rows @param {number} inputs
     * @param {number} outputs */
    outer: (dw, dy, x, rows, inputs, outputs) => product(dw, inputs, dy, 1, outputs, x, inputs, outputs, inputs, rows),

    /** Wᵀ (inputs × outputs) of W (outputs × inputs). @param {number} w @param {number} outputs @param {number} inputs */
    transposed(w, outputs, inputs) {
      const to = zeros(outputs * inputs);
      for (let o = 0; o < outputs; o++)
        for (let i = 0; i < inputs; i++) f[to + i * outputs + o] = f[w + o * inputs + i];
      return to;
    },

    /** Each row (rows × size) of `y` += a bias. @param {number} y @param {number} bias @param {number} rows @param {number} size */
    addBias(y, bias, rows, size) {
      for (let r = 0; r < rows; r++) for (let i = 0; i < size; i++) f[y + r * size + i] += f[bias + i];
    },

    /** The gradient of a bias += the sum of rows. @param {number} db @param {number} dy @param {number} rows @param {number} size */
    sumRows(db, dy, rows, size) {
      for (let r = 0; r < rows; r++) for (let i = 0; i < size; i++) f[db + i] += f[dy + r * size + i];
    },

    /** @param {number} to @param {number} from @param {number} count */
    copy: (to, from, count) => void f.copyWithin(to, from, from + count),

    /** @param {number} to @param {number} from @param {number} count */
    add(to, from, count) {
      for (let i = 0; i < count; i++) f[to + i] += f[from + i];
    },
  };
}

const [REACH, STEPS] = [9, 1 << 10]; // a table of tanh from −9 to 9, so many values per unit
const TABLE = Float64Array.from({ length: 2 * REACH * STEPS + 2 }, (_, i) => Math.tanh(i / STEPS - REACH));

/** tanh, with an error of at most 1e-7: between two values of a table. Math.tanh takes three times as long.
 * @param {number} x */
export function tanh(x) {
  const at = (Math.max(-REACH, Math.min(REACH, x)) + REACH) * STEPS;
  const i = at | 0;
  return TABLE[i] + (at - i) * (TABLE[i + 1] - TABLE[i]);
}

/** @param {number} x */
export const sigmoid = (x) => 0.5 + 0.5 * tanh(x / 2);
