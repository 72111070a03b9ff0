// @ts-check
/** Luong's decoder step, as `nmt.model.luong`.
 *
 * h_t = GRU([E y_{t−1}; h̃_{t−1}], h_{t−1}), without h̃ if there is no input feeding;  c_t = attend(h_t);
 * the output layer reads h̃_t = tanh(W_c [c_t; h_t]).
 */

import { tanh } from "./space.js";

/** @import { Pass } from "./decoder.js" */

/** @param {Pass} pass */
export function luong({
  space,
  parameters,
  settings,
  B,
  T,
  states,
  cell,
  rnn,
  G,
  K,
  kept,
  recurrent,
  attention,
  tokens,
  table,
  weights,
}) {
  const { f, zeros, times, outer, transposed, copy, add } = space;
  const { at, gradient } = parameters;
  const H = settings.hidden;
  const M = 2 * settings.encoder;
  const R = M + H;
  const [feed, combine] = ["decoder.feed_gates.weight", "decoder.combine.weight"];
  const feedT = settings.feeding ? transposed(at(feed), G, H) : 0;
  const combineT = transposed(at(combine), H, R);
  const [context, joined, attentional] = [zeros(B * M), zeros(T * B * R), zeros((T + 1) * B * H)];
  const gates = zeros(B * G);

  /** @param {number} t @returns {number} what the output layer multiplies (B H) */
  function step(t) {
    const [before, after] = [states + t * B * H, states + (t + 1) * B * H];
    table.look(gates, tokens, t * B, B);
    if (feedT) times(gates, attentional + t * B * H, feedT, B, H, G);
    rnn.step(space, weights, { gates, before, after, kept: kept + t * B * K, recurrent, cell }, B, H);
    f.fill(0, context, context + B * M);
    attention?.forward(t, after, context);
    const [row, out] = [joined + t * B * R, attentional + (t + 1) * B * H];
    for (let b = 0; b < B; b++) {
      copy(row + b * R, context + b * M, M);
      copy(row + b * R + M, after + b * H, H);
    }
    times(out, row, combineT, B, R, H);
    for (let i = out; i < out + B * H; i++) f[i] = tanh(f[i]);
    return out;
  }

  /** @param {number} dFeatures (T B H) @param {number} dGates @param {number} dRecurrent
   * @returns {number} the gradient of the first state */
  function backward(dFeatures, dGates, dRecurrent) {
    let [dAfter, dBefore] = [zeros(rnn.states * B * H), zeros(rnn.states * B * H)];
    const [dJoined, dContext] = [zeros(B * R), zeros(B * M)];
    for (let t = T - 1; t >= 0; t--) {
      const [d, out] = [dFeatures + t * B * H, attentional + (t + 1) * B * H];
      for (let i = 0; i < B * H; i++) f[d + i] *= 1 - f[out + i] ** 2;
      f.fill(0, dJoined, dJoined + B * R);
      times(dJoined, d, at(combine), B, H, R);
      for (let b = 0; b < B; b++) {
        copy(dContext + b * M, dJoined + b * R, M);
        add(dAfter + b * H, dJoined + b * R + M, H);
      }
      attention?.backward(t, states + (t + 1) * B * H, dAfter, dContext);
      const places = { before: states + t * B * H, kept: kept + t * B * K, dAfter, dBefore, cell };
      const [dGate, dShare] = [dGates + t * B * G, dRecurrent + t * B * G];
      rnn.backward(space, weights.U, { ...places, dGates: dGate, dRecurrent: dShare }, B, H);
      if (feedT && t) times(dFeatures + (t - 1) * B * H, dGate, at(feed), B, G, H);
      [dAfter, dBefore] = [dBefore, dAfter];
    }
    outer(gradient(combine), dFeatures, joined, T * B, R, H);
    if (feedT) outer(gradient(feed), dGates, attentional, T * B, H, G);
    return dAfter;
  }
  return { step, backward };
}
