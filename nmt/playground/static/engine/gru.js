// @ts-check
/** A GRU's step, and an embedding's share of its gates; each with its gradient.
 *
 * r = σ(W_r x + U_r h);  z = σ(W_z x + U_z h);  n = tanh(W_n x + r ∘ (U_n h + b_n));  h' = n + z ∘ (h − n).
 * The gates are in the order reset, update, candidate. B rows, H numbers of a state.
 */

import { sigmoid } from "./space.js";

/** @import { Space } from "./space.js" */
/** @import { Parameters } from "./parameters.js" */
/** @typedef {(row: number) => boolean} Real whether a row is no padding */

/** A step of B rows. `gates` (B 3H) is the input's share; `kept` (B 4H) gets r, z, n and U_n h + b_n for `backward`.
 * A row that is not real keeps its state.
 * @param {Space} space @param {{transposed: number, bias: number}} weights
 * @param {{gates: number, before: number, after: number, kept: number, recurrent: number}} places
 * @param {number} rows @param {number} H @param {Real} [real] */
export function step({ f, times, copy }, weights, { gates, before, after, kept, recurrent }, rows, H, real) {
  for (let b = 0; b < rows; b++) copy(recurrent + 3 * H * b, weights.bias, 3 * H);
  times(recurrent, before, weights.transposed, rows, H, 3 * H);
  for (let b = 0; b < rows; b++) {
    const [x, u, k, h] = [gates + 3 * H * b, recurrent + 3 * H * b, kept + 4 * H * b, H * b];
    if (real && !real(b)) {
      copy(after + h, before + h, H);
      continue;
    }
    for (let i = 0; i < H; i++) {
      const r = (f[k + i] = sigmoid(f[x + i] + f[u + i]));
      const z = (f[k + H + i] = sigmoid(f[x + H + i] + f[u + H + i]));
      const share = (f[k + 3 * H + i] = f[u + 2 * H + i]);
      const n = (f[k + 2 * H + i] = Math.tanh(f[x + 2 * H + i] + r * share));
      f[after + h + i] = n + z * (f[before + h + i] - n);
    }
  }
}

/** The gradients of a step: `dGates` and `dRecurrent` (B 3H) are set, as is `dBefore` (B H), all from `dAfter`.
 * @param {Space} space @param {number} U the recurrent weight (3H H)
 * @param {{before: number, kept: number, dAfter: number, dBefore: number, dGates: number, dRecurrent: number}} places
 * @param {number} rows @param {number} H @param {Real} [real] */
export function backward({ f, times, copy }, U, places, rows, H, real) {
  const { before, kept, dAfter, dBefore, dGates, dRecurrent } = places;
  for (let b = 0; b < rows; b++) {
    const [x, u, k, h] = [dGates + 3 * H * b, dRecurrent + 3 * H * b, kept + 4 * H * b, H * b];
    if (real && !real(b)) {
      copy(dBefore + h, dAfter + h, H);
      f.fill(0, x, x + 3 * H);
      f.fill(0, u, u + 3 * H);
      continue;
    }
    for (let i = 0; i < H; i++) {
      const [d, r, z, n] = [f[dAfter + h + i], f[k + i], f[k + H + i], f[k + 2 * H + i]];
      const candidate = d * (1 - z) * (1 - n * n);
      f[x + 2 * H + i] = candidate;
      f[u + 2 * H + i] = candidate * r;
      f[x + i] = f[u + i] = candidate * f[k + 3 * H + i] * r * (1 - r);
      f[x + H + i] = f[u + H + i] = d * (f[before + h + i] - n) * z * (1 - z);
      f[dBefore + h + i] = d * z;
    }
  }
  times(dBefore, dRecurrent, U, rows, 3 * H, H);
}

/** W e + b for the embeddings e of all tokens (types 3H): a sentence looks its tokens' rows up.
 * @param {Space} space @param {Parameters} parameters
 * @param {{embedding: string, weight: string, bias: string, types: number, E: number, H: number}} names */
export function tableOf(space, { at, gradient }, { embedding, weight, bias, types, E, H }) {
  const values = space.zeros(types * 3 * H);
  space.addBias(values, at(bias), types, 3 * H);
  space.times(values, at(embedding), space.transposed(at(weight), 3 * H, E), types, E, 3 * H);
  const gradients = space.zeros(types * 3 * H);
  return {
    /** @param {number} to @param {Int32Array} tokens @param {number} first @param {number} rows */
    look(to, tokens, first, rows) {
      for (let b = 0; b < rows; b++) space.copy(to + 3 * H * b, values + 3 * H * tokens[first + b], 3 * H);
    },
    /** @param {number} from @param {Int32Array} tokens @param {number} rows */
    collect(from, tokens, rows) {
      for (let b = 0; b < rows; b++) space.add(gradients + 3 * H * tokens[b], from + 3 * H * b, 3 * H);
    },
    backward() {
      space.outer(gradient(weight), gradients, at(embedding), types, E, 3 * H);
      space.sumRows(gradient(bias), gradients, types, 3 * H);
      space.times(gradient(embedding), gradients, at(weight), types, 3 * H, E);
    },
  };
}
