// @ts-check
/** The bidirectional encoder (Bahdanau et al. 2015, section 3.2), as `nmt.model.encoder`. */

import { CELLS, tableOf } from "./cells.js";
import { encoderNames } from "./parameters.js";

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
  const directions = [0, 1].map((d) => direct(space, parameters, settings, batch, d, memory));
  return {
    ...memory,
    /** @param {number} dValues @param {number} dFinal */
    backward(dValues, dFinal) {
      for (const direction of directions) direction.backward(dValues, dFinal);
    },
  };
}

/** One direction, 0 or from the end 1, which writes its half of the memory.
 * @param {Space} space @param {Parameters} parameters @param {Settings} settings @param {Batch} batch
 * @param {number} d @param {{values: number, final: number}} memory */
function direct(space, parameters, settings, batch, d, memory) {
  const { rows: B, sourceLength: S, source, sourceLengths } = batch;
  const { embedding: E, encoder: h, sourceTypes: types } = settings;
  const { at, gradient } = parameters;
  const rnn = CELLS[settings.cell];
  const [G, K, M, column] = [rnn.gates * h, rnn.kept * h, 2 * h, h * d];
  const names = encoderNames(settings.cell, d);
  const table = tableOf(space, parameters, { embedding: "encoder.embedding.weight", ...names.input, types, E, G });
  const { recurrent: ofState } = names;
  const [U, bias] = ofState ? [at(ofState.weight), at(ofState.bias)] : [0, 0];
  const weights = { transposed: ofState ? space.transposed(U, G, h) : 0, bias };
  const position = (/** @type {number} */ i) => (d ? S - 1 - i : i);
  const real = (/** @type {number} */ s) => (/** @type {number} */ b) => s < sourceLengths[b];
  const cell = (S + 1) * B * h;
  const [states, kept] = [space.zeros(rnn.states * cell), space.zeros(S * B * K)];
  const [gates, recurrent] = [space.zeros(B * G), space.zeros(B * G)];
  for (let i = 0; i < S; i++) {
    const s = position(i);
    table.look(gates, source, s * B, B);
    const [before, after] = [states + i * B * h, states + (i + 1) * B * h];
    rnn.step(space, weights, { gates, before, after, kept: kept + i * B * K, recurrent, cell }, B, h, real(s));
    for (let b = 0; b < B; b++)
      if (s < sourceLengths[b]) space.copy(memory.values + (s * B + b) * M + column, after + b * h, h);
  }
  for (let b = 0; b < B; b++) space.copy(memory.final + b * M + column, states + (S * B + b) * h, h);

  /** @param {number} dValues @param {number} dFinal */
  function backward(dValues, dFinal) {
    let [dAfter, dBefore] = [space.zeros(rnn.states * B * h), space.zeros(rnn.states * B * h)];
    const [dGates, dRecurrent] = [space.zeros(S * B * G), space.zeros(S * B * G)];
    const tokens = new Int32Array(S * B);
    for (let b = 0; b < B; b++) space.copy(dAfter + b * h, dFinal + b * M + column, h);
    for (let i = S - 1; i >= 0; i--) {
      const s = position(i);
      for (let b = 0; b < B; b++)
        if (s < sourceLengths[b]) space.add(dAfter + b * h, dValues + (s * B + b) * M + column, h);
      const places = { before: states + i * B * h, kept: kept + i * B * K, dAfter, dBefore, cell };
      const step = i * B * G;
      const given = { ...places, dGates: dGates + step, dRecurrent: dRecurrent + step };
      rnn.backward(space, U, given, B, h, real(s));
      tokens.set(source.subarray(s * B, (s + 1) * B), i * B);
      [dAfter, dBefore] = [dBefore, dAfter];
    }
    table.collect(dGates, tokens, S * B);
    table.backward();
    if (!ofState) return;
    space.outer(gradient(ofState.weight), dRecurrent, states, S * B, h, G);
    space.sumRows(gradient(ofState.bias), dRecurrent, S * B, G);
  }
  return { backward };
}
