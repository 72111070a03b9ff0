// @ts-check
/** What both decoders share, as `nmt.model.decoder`: first state, embedding, output layer. */

import { attentionOf } from "./attention.js";
import { bahdanau } from "./bahdanau.js";
import { CELLS, tableOf } from "./cells.js";
import { encode } from "./encoder.js";
import { luong } from "./luong.js";
import { tanh } from "./space.js";
import { BOS, PAD } from "./tasks.js";

/** @import { Space } from "./space.js" */
/** @import { Parameters, Settings } from "./parameters.js" */
/** @import { Batch } from "./tasks.js" */
/** @typedef {ReturnType<typeof begin>} Pass */

const RNN = "decoder.rnn.recurrent.0";
const BRIDGE = "decoder.bridge";
const OUTPUT = "decoder.output";

/** A batch's encoding, first state tanh(W_s [→h; ←h]), also that of a memory cell, and room for T steps.
 * @param {Space} space @param {Parameters} parameters @param {Settings} settings @param {Batch} batch @param {number} T */
function begin(space, parameters, settings, batch, T) {
  const { f, zeros, times, transposed, addBias, copy } = space;
  const { rows: B } = batch;
  const { embedding: E, hidden: H, targetTypes: types } = settings;
  const { at } = parameters;
  const M = 2 * settings.encoder;
  const encoded = encode(space, parameters, settings, batch);
  const memory = { values: encoded.values, dValues: zeros(batch.sourceLength * B * M) };
  const rnn = CELLS[settings.cell];
  const [G, K, wide] = [rnn.gates * H, rnn.kept * H, rnn.states * H];
  const cell = (T + 1) * B * H; // from a hidden state to its memory cell
  const [states, first] = [zeros(rnn.states * cell), zeros(B * wide)];
  addBias(first, at(`${BRIDGE}.bias`), B, wide);
  times(first, encoded.final, transposed(at(`${BRIDGE}.weight`), wide, M), B, M, wide);
  for (let i = first; i < first + B * wide; i++) f[i] = tanh(f[i]);
  for (let b = 0; b < B; b++)
    for (let k = 0; k < rnn.states; k++) copy(states + k * cell + b * H, first + b * wide + k * H, H);
  const hasRecurrent = settings.cell !== "mingru";
  const gates = "decoder.embedding_gates";
  const names = { embedding: "decoder.embedding.weight", weight: `${gates}.weight`, bias: `${gates}.bias` };
  return {
    ...{ space, parameters, settings, B, T, encoded, memory, states, first, cell, rnn, G, K },
    kept: zeros(T * B * K),
    recurrent: zeros(B * G),
    attention: settings.wiring === "none" ? null : attentionOf(space, parameters, settings, batch, memory, T),
    tokens: new Int32Array(T * B).fill(BOS),
    table: tableOf(space, parameters, { ...names, types, E, G }),
    weights: hasRecurrent
      ? { U: at(`${RNN}.weight`), transposed: transposed(at(`${RNN}.weight`), G, H), bias: at(`${RNN}.bias`) }
      : { U: 0, transposed: 0, bias: 0 },
  };
}

/** The decoder over T steps. The caller writes the token that step t reads into `tokens` (T B) before it.
 * @param {Space} space @param {Parameters} parameters @param {Settings} settings @param {Batch} batch @param {number} T */
export function decode(space, parameters, settings, batch, T) {
  const { f, zeros, times, outer, transposed } = space;
  const { at, gradient } = parameters;
  const pass = begin(space, parameters, settings, batch, T);
  const { B, states, tokens, G, rnn } = pass;
  const { hidden: H, targetTypes: V } = settings;
  const M = 2 * settings.encoder;
  const decoder = settings.wiring === "luong" ? luong(pass) : bahdanau(pass);
  const F = settings.wiring === "luong" ? H : settings.embedding;
  const outputT = transposed(at(`${OUTPUT}.weight`), V, F);
  const [features, logits] = [zeros(T * B * F), zeros(T * B * V)];

  /** The logits (B V) of step t. @param {number} t */
  function step(t) {
    const out = logits + t * B * V;
    space.copy(features + t * B * F, decoder.step(t), B * F);
    space.addBias(out, at(`${OUTPUT}.bias`), B, V);
    times(out, features + t * B * F, outputT, B, F, V);
    return out;
  }

  /** The most likely token of a row after step t; never PAD or BOS. @param {number} t @param {number} b */
  function best(t, b) {
    const row = logits + (t * B + b) * V;
    let token = 0;
    for (let i = 1; i < V; i++) if (i !== PAD && i !== BOS && f[row + i] > f[row + token]) token = i;
    return token;
  }

  /** All gradients, of the logits' gradients (T B V), which stand in the logits' place. */
  function backward() {
    const { encoded, memory, attention, table } = pass;
    outer(gradient(`${OUTPUT}.weight`), logits, features, T * B, F, V);
    space.sumRows(gradient(`${OUTPUT}.bias`), logits, T * B, V);
    const dFeatures = zeros(T * B * F);
    times(dFeatures, logits, at(`${OUTPUT}.weight`), T * B, V, F);
    const [dGates, dRecurrent, dFinal] = [zeros(T * B * G), zeros(T * B * G), zeros(B * M)];
    const dStates = decoder.backward(dFeatures, dGates, dRecurrent, dFinal);
    table.collect(dGates, tokens, T * B);
    table.backward();
    if (pass.weights.U) {
      outer(gradient(`${RNN}.weight`), dRecurrent, states, T * B, H, G);
      space.sumRows(gradient(`${RNN}.bias`), dRecurrent, T * B, G);
    }
    attention?.finish();
    const [wide, dFirst] = [rnn.states * H, zeros(B * rnn.states * H)];
    for (let b = 0; b < B; b++)
      for (let k = 0; k < rnn.states; k++) space.copy(dFirst + b * wide + k * H, dStates + (k * B + b) * H, H);
    for (let i = 0; i < B * wide; i++) f[dFirst + i] *= 1 - f[pass.first + i] ** 2;
    outer(gradient(`${BRIDGE}.weight`), dFirst, encoded.final, B, M, wide);
    space.sumRows(gradient(`${BRIDGE}.bias`), dFirst, B, wide);
    times(dFinal, dFirst, at(`${BRIDGE}.weight`), B, wide, M);
    encoded.backward(memory.dValues, dFinal);
  }
  return { tokens, logits, step, best, backward, weights: pass.attention?.weights ?? null };
}
