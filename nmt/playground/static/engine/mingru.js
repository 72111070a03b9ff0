// @ts-check
/** A minGRU's step, and its gradient, as `nmt.variants.cells.mingru`: its gates read the input alone.
 *
 * z = σ(W_z x);  h' = (1 − z) ∘ h + z ∘ (W x).
 */

import { sigmoid } from "./space.js";

/** @import { Space } from "./space.js" */
/** @import { BackwardPlaces, Places, Real, Weights } from "./cells.js" */

export const [gates, kept, states] = [2, 2, 1];

/** `kept` gets z and W x.
 * @param {Space} space @param {Weights | null} _weights it has none @param {Places} places @param {number} rows
 * @param {number} H @param {Real} [real] */
export function step({ f, copy }, _weights, { gates: shares, before, after, kept: values }, rows, H, real) {
  for (let b = 0; b < rows; b++) {
    const [x, k, h] = [shares + 2 * H * b, values + 2 * H * b, H * b];
    if (real && !real(b)) {
      copy(after + h, before + h, H);
      continue;
    }
    for (let i = 0; i < H; i++) {
      const z = (f[k + i] = sigmoid(f[x + i]));
      const candidate = (f[k + H + i] = f[x + H + i]);
      f[after + h + i] = f[before + h + i] + z * (candidate - f[before + h + i]);
    }
  }
}

/** @param {Space} space @param {number} _U it has none @param {BackwardPlaces} places @param {number} rows
 * @param {number} H @param {Real} [real] */
export function backward({ f, copy }, _U, { before, kept: values, dAfter, dBefore, dGates }, rows, H, real) {
  for (let b = 0; b < rows; b++) {
    const [x, k, h] = [dGates + 2 * H * b, values + 2 * H * b, H * b];
    if (real && !real(b)) {
      copy(dBefore + h, dAfter + h, H);
      f.fill(0, x, x + 2 * H);
      continue;
    }
    for (let i = 0; i < H; i++) {
      const [d, z] = [f[dAfter + h + i], f[k + i]];
      f[x + i] = d * (f[k + H + i] - f[before + h + i]) * z * (1 - z);
      f[x + H + i] = d * z;
      f[dBefore + h + i] = d * (1 - z);
    }
  }
}
