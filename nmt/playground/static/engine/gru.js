// @ts-check
/** A GRU's step, and its gradient, as `nmt.model.cells`.
 *
 * r = σ(W_r x + U_r h);  z = σ(W_z x + U_z h);  n = tanh(W_n x + r ∘ (U_n h + b_n));  h' = n + z ∘ (h − n).
 * The gates are in the order reset, update, candidate. B rows, H numbers of a state.
 */

import { sigmoid, tanh } from "./space.js";

/** @import { Space } from "./space.js" */
/** @import { BackwardPlaces, Places, Real, Weights } from "./cells.js" */

export const [gates, kept, states] = [3, 4, 1];

/** `kept` gets r, z, n and U_n h + b_n.
 * @param {Space} space @param {Weights} weights @param {Places} places @param {number} rows @param {number} H @param {Real} [real] */
export function step(
  { f, times, copy },
  weights,
  { gates: shares, before, after, kept: values, recurrent },
  rows,
  H,
  real,
) {
  for (let b = 0; b < rows; b++) copy(recurrent + 3 * H * b, weights.bias, 3 * H);
  times(recurrent, before, weights.transposed, rows, H, 3 * H);
  for (let b = 0; b < rows; b++) {
    const [x, u, k, h] = [shares + 3 * H * b, recurrent + 3 * H * b, values + 4 * H * b, H * b];
    if (real && !real(b)) {
      copy(after + h, before + h, H);
      continue;
    }
    for (let i = 0; i < H; i++) {
      const r = (f[k + i] = sigmoid(f[x + i] + f[u + i]));
      const z = (f[k + H + i] = sigmoid(f[x + H + i] + f[u + H + i]));
      const share = (f[k + 3 * H + i] = f[u + 2 * H + i]);
      const n = (f[k + 2 * H + i] = tanh(f[x + 2 * H + i] + r * share));
      f[after + h + i] = n + z * (f[before + h + i] - n);
    }
  }
}

/** @param {Space} space @param {number} U @param {BackwardPlaces} places @param {number} rows @param {number} H
 * @param {Real} [real] */
export function backward({ f, times, copy }, U, places, rows, H, real) {
  const { before, kept: values, dAfter, dBefore, dGates, dRecurrent } = places;
  for (let b = 0; b < rows; b++) {
    const [x, u, k, h] = [dGates + 3 * H * b, dRecurrent + 3 * H * b, values + 4 * H * b, H * b];
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
