// @ts-check
/** Bahdanau's decoder step, with attention or with a fixed context, as `nmt.model.bahdanau`.
 *
 * c_t = attend(s_{t−1});  s_t = GRU([E y_{t−1}; c_t], s_{t−1});  the output layer reads tanh(W_o [s_t; c_t; E y_{t−1}] + b_o).
 */

import { tanh } from "./space.js";

/** @import { Pass } from "./decoder.js" */

/** @param {Pass} pass */
export function bahdanau({
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
  encoded,
  tokens,
  table,
  weights,
}) {
  const { f, zeros, times, outer, transposed, copy, add } = space;
  const { at, gradient } = parameters;
  const { embedding: E, hidden: H } = settings;
  const M = 2 * settings.encoder;
  const R = H + M + E;
  const [ofContext, readout] = ["decoder.context_gates.weight", "decoder.readout.weight"];
  const [contextT, readoutT] = [transposed(at(ofContext), G, M), transposed(at(readout), E, R)];
  const [contexts, joined, features] = [zeros(T * B * M), zeros(T * B * R), zeros(T * B * E)];
  const gates = zeros(B * G);

  /** @param {number} t @returns {number} what the output layer multiplies (B E) */
  function step(t) {
    const [context, before, after] = [contexts + t * B * M, states + t * B * H, states + (t + 1) * B * H];
    if (attention) attention.forward(t, before, context);
    else copy(context, encoded.final, B * M);
    table.look(gates, tokens, t * B, B);
    times(gates, context, contextT, B, M, G);
    rnn.step(space, weights, { gates, before, after, kept: kept + t * B * K, recurrent, cell }, B, H);
    const [row, out] = [joined + t * B * R, features + t * B * E];
    for (let b = 0; b < B; b++) {
      copy(row + b * R, after + b * H, H);
      copy(row + b * R + H, context + b * M, M);
      copy(row + b * R + H + M, at("decoder.embedding.weight") + E * tokens[t * B + b], E);
      copy(out + b * E, at("decoder.readout.bias"), E);
    }
    times(out, row, readoutT, B, R, E);
    for (let i = out; i < out + B * E; i++) f[i] = tanh(f[i]);
    return out;
  }

  /** @param {number} dFeatures (T B E) @param {number} dGates @param {number} dRecurrent @param {number} dFinal
   * @returns {number} the gradient of the first state */
  function backward(dFeatures, dGates, dRecurrent, dFinal) {
    for (let i = 0; i < T * B * E; i++) f[dFeatures + i] *= 1 - f[features + i] ** 2;
    outer(gradient(readout), dFeatures, joined, T * B, R, E);
    space.sumRows(gradient("decoder.readout.bias"), dFeatures, T * B, E);
    const dJoined = zeros(T * B * R);
    times(dJoined, dFeatures, at(readout), T * B, E, R);
    let [dAfter, dBefore] = [zeros(rnn.states * B * H), zeros(rnn.states * B * H)];
    const dContext = zeros(B * M);
    for (let t = T - 1; t >= 0; t--) {
      for (let b = 0; b < B; b++) {
        const row = dJoined + (t * B + b) * R;
        add(dAfter + b * H, row, H);
        copy(dContext + b * M, row + H, M);
        add(gradient("decoder.embedding.weight") + E * tokens[t * B + b], row + H + M, E);
      }
      const before = states + t * B * H;
      const places = { before, kept: kept + t * B * K, dAfter, dBefore, cell };
      const [dGate, dShare] = [dGates + t * B * G, dRecurrent + t * B * G];
      rnn.backward(space, weights.U, { ...places, dGates: dGate, dRecurrent: dShare }, B, H);
      times(dContext, dGate, at(ofContext), B, G, M);
      if (attention) attention.backward(t, before, dBefore, dContext);
      else add(dFinal, dContext, B * M);
      [dAfter, dBefore] = [dBefore, dAfter];
    }
    outer(gradient(ofContext), dGates, contexts, T * B, M, G);
    return dAfter;
  }
  return { step, backward };
}
