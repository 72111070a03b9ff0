// @ts-check
/** An LSTM's step, and its gradient, as `nmt.model.cells`.
 *
 * i, f, g, o = W x + U h + b;  c' = σ(f) ∘ c + σ(i) ∘ tanh(g);  h' = σ(o) ∘ tanh(c').
 */

import { sigmoid, tanh } from "./space.js";

/** @import { Space } from "./space.js" */
/** @import { BackwardPlaces, Places, Real, Weights } from "./cells.js" */

export const [gates, kept, states] = [4, 5, 2];

/** `kept` gets σ(i), σ(f), tanh(g), σ(o) and tanh(c').
 * @param {Space} space @param {Weights} weights @param {Places} places @param {number} rows @param {number} H @param {Real} [real] */
export function step({ f, times, copy }, weights, places, rows, H, real) {
  const { gates: shares, before, after, kept: values, recurrent, cell } = places;
  for (let b = 0; b < rows; b++) copy(recurrent + 4 * H * b, weights.bias, 4 * H);
  times(recurrent, before, weights.transposed, rows, H, 4 * H);
  for (let b = 0; b < rows; b++) {
    const [x, u, k, h] = [shares + 4 * H * b, recurrent + 4 * H * b, values + 5 * H * b, H * b];
    if (real && !real(b)) {
      copy(after + h, before + h, H);
      copy(after + cell + h, before + cell + h, H);
      continue;
    }
    for (let i = 0; i < H; i++) {
      const input = (f[k + i] = sigmoid(f[x + i] + f[u + i]));
      const forget = (f[k + H + i] = sigmoid(f[x + H + i] + f[u + H + i]));
      const candidate = (f[k + 2 * H + i] = tanh(f[x + 2 * H + i] + f[u + 2 * H + i]));
      const output = (f[k + 3 * H + i] = sigmoid(f[x + 3 * H + i] + f[u + 3 * H + i]));
      const memory = (f[after + cell + h + i] = forget * f[before + cell + h + i] + input * candidate);
      f[after + h + i] = output * (f[k + 4 * H + i] = tanh(memory));
    }
  }
}

/** @param {Space} space @param {number} U @param {BackwardPlaces} places @param {number} rows @param {number} H
 * @param {Real} [real] */
export function backward({ f, times, copy }, U, places, rows, H, real) {
  const { before, kept: values, dAfter, dBefore, dGates, dRecurrent, cell } = places;
  const further = rows * H;
  for (let b = 0; b < rows; b++) {
    const [x, k, h] = [dGates + 4 * H * b, values + 5 * H * b, H * b];
    if (real && !real(b)) {
      copy(dBefore + h, dAfter + h, H);
      copy(dBefore + further + h, dAfter + further + h, H);
      f.fill(0, x, x + 4 * H);
      continue;
    }
    for (let i = 0; i < H; i++) {
      const [input, forget, candidate, output] = [f[k + i], f[k + H + i], f[k + 2 * H + i], f[k + 3 * H + i]];
      const [d, tanh] = [f[dAfter + h + i], f[k + 4 * H + i]];
      const dMemory = f[dAfter + further + h + i] + d * output * (1 - tanh * tanh);
      f[x + i] = dMemory * candidate * input * (1 - input);
      f[x + H + i] = dMemory * f[before + cell + h + i] * forget * (1 - forget);
      f[x + 2 * H + i] = dMemory * input * (1 - candidate * candidate);
      f[x + 3 * H + i] = d * tanh * output * (1 - output);
      f[dBefore + h + i] = 0;
      f[dBefore + further + h + i] = dMemory * forget;
    }
  }
  copy(dRecurrent, dGates, rows * 4 * H);
  times(dBefore, dRecurrent, U, rows, 4 * H, H);
}
