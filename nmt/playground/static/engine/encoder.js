// @ts-check
/** The bidirectional encoder (Bahdanau et al. 2015, section 3.2), as `nmt.model.encoder`. */

import * as gru from "./gru.js";

/** @import { Space } from "./space.js" */
/** @import { Parameters, Settings } from "./parameters.js" */
/** @import { Batch } from "./tasks.js" */

/** Encode a batch: the memory (S B M), 0 at padding, and the final states (B M); both with room for their gradients.
 * @param {Space} space @param {Parameters} parameters @param {Settings} settings @param {Batch} batch */
export function encode(space, parameters, settings, batch) {
  const { rows: B, sourceLength: S } = batch;
  const h = settings.encoder;
  const M = 2 * h;
  const memory = { values: space.zeros(S * B * M), final: space.zeros(B * M), dValues: 0, dFinal: 0 };
  const directions = ["", "_reverse"].map((suffix, d) =>
    direct(space, parameters, settings, batch, suffix, memory, h * d),
  );
  return {
    ...memory,
    /** @param {number} dValues @param {number} dFinal */
    backward(dValues, dFinal) {
      for (const direction of directions) direction.backward(dValues, dFinal);
    },
  };
}

/** One direction, which writes its half of the memory from `column` on.
 * @param {Space} space @param {Parameters} parameters @param {Settings} settings @param {Batch} batch
 * @param {string} suffix @param {{values: number, final: number}} memory @param {number} column */
function direct(space, parameters, settings, batch, suffix, memory, column) {
  const { rows: B, sourceLength: S, source, sourceLengths } = batch;
  const { embedding: E, encoder: h, sourceTypes: types } = settings;
  const { at, gradient } = parameters;
  const names = { embedding: "encoder.embedding.weight", weight: `encoder.rnn.weight_ih_l0${suffix}` };
  const table = gru.tableOf(space, parameters, { ...names, bias: `encoder.rnn.bias_ih_l0${suffix}`, types, E, H: h });
  const [U, bias] = [`encoder.rnn.weight_hh_l0${suffix}`, `encoder.rnn.bias_hh_l0${suffix}`];
  const weights = { transposed: space.transposed(at(U), 3 * h, h), bias: at(bias) };
  const position = (/** @type {number} */ i) => (suffix ? S - 1 - i : i);
  const real = (/** @type {number} */ s) => (/** @type {number} */ b) => s < sourceLengths[b];
  const [states, kept] = [space.zeros((S + 1) * B * h), space.zeros(S * B * 4 * h)];
  const [gates, recurrent] = [space.zeros(B * 3 * h), space.zeros(B * 3 * h)];
  const M = 2 * h;
  for (let i = 0; i < S; i++) {
    const s = position(i);
    table.look(gates, source, s * B, B);
    const [before, after] = [states + i * B * h, states + (i + 1) * B * h];
    gru.step(space, weights, { gates, before, after, kept: kept + i * B * 4 * h, recurrent }, B, h, real(s));
    for (let b = 0; b < B; b++)
      if (s < sourceLengths[b]) space.copy(memory.values + (s * B + b) * M + column, after + b * h, h);
  }
  for (let b = 0; b < B; b++) space.copy(memory.final + b * M + column, states + (S * B + b) * h, h);

  /** @param {number} dValues @param {number} dFinal */
  function backward(dValues, dFinal) {
    let [dAfter, dBefore] = [space.zeros(B * h), space.zeros(B * h)];
    const [dGates, dRecurrent] = [space.zeros(S * B * 3 * h), space.zeros(S * B * 3 * h)];
    const tokens = new Int32Array(S * B);
    for (let b = 0; b < B; b++) space.copy(dAfter + b * h, dFinal + b * M + column, h);
    for (let i = S - 1; i >= 0; i--) {
      const s = position(i);
      for (let b = 0; b < B; b++)
        if (s < sourceLengths[b]) space.add(dAfter + b * h, dValues + (s * B + b) * M + column, h);
      const places = { before: states + i * B * h, kept: kept + i * B * 4 * h, dAfter, dBefore };
      const step = i * B * 3 * h;
      const given = { ...places, dGates: dGates + step, dRecurrent: dRecurrent + step };
      gru.backward(space, at(U), given, B, h, real(s));
      tokens.set(source.subarray(s * B, (s + 1) * B), i * B);
      [dAfter, dBefore] = [dBefore, dAfter];
    }
    table.collect(dGates, tokens, S * B);
    table.backward();
    space.outer(gradient(U), dRecurrent, states, S * B, h, 3 * h);
    space.sumRows(gradient(bias), dRecurrent, S * B, 3 * h);
  }
  return { backward };
}
