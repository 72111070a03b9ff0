// @ts-check
/** A model: its loss and gradients on a batch, its updates, and what it writes (greedy search). */

import { decode } from "./decoder.js";
import { initialise, makeAdam, makeParameters } from "./parameters.js";
import { generatorOf } from "./random.js";
import { makeSpace } from "./space.js";
import { EOS } from "./tasks.js";

/** @import { Settings } from "./parameters.js" */
/** @import { Batch } from "./tasks.js" */
/** @typedef {ReturnType<typeof makeModel>} Model */
/** @typedef {{tokens: number[], weights: number[][]}} Written the ids with the end, and for each the weights of its source */

/** @param {Settings} settings @param {number} seed @param {{numbers?: number, plain?: boolean}} [memory] */
export function makeModel(settings, seed, { numbers, plain } = {}) {
  const space = makeSpace(numbers, plain);
  const { f } = space;
  const parameters = makeParameters(space, settings);
  initialise(space, parameters, generatorOf(seed, 0));
  const adam = makeAdam(space, parameters);
  const mark = space.mark();

  /** The mean loss per target token, in nats, and its gradients. Where `reads(t, b)` is false the decoder reads its own
   * most likely last token, not the reference's. @param {Batch} batch @param {(t: number, b: number) => boolean} [reads] */
  function loss(batch, reads) {
    const { rows: B, targetLength: T, target } = batch;
    space.release(mark);
    f.fill(0, parameters.gradients, parameters.gradients + parameters.count);
    const pass = decode(space, parameters, settings, batch, T);
    for (let t = 0; t < T; t++) {
      if (t)
        for (let b = 0; b < B; b++)
          pass.tokens[t * B + b] = !reads || reads(t, b) ? target[(t - 1) * B + b] : pass.best(t - 1, b);
      pass.step(t);
    }
    const sum = crossEntropy(f, pass.logits, batch, settings.targetTypes);
    pass.backward();
    return sum / batch.tokens;
  }

  /** What it writes for the sources of a batch, in at most `most` tokens, by greedy search.
   * @param {Batch} batch @param {number} most @returns {Written[]} */
  function write(batch, most) {
    const { rows: B, sourceLength: S, sourceLengths } = batch;
    space.release(mark);
    const pass = decode(space, parameters, settings, batch, most);
    /** @type {Written[]} */
    const written = Array.from({ length: B }, () => ({ tokens: [], weights: [] }));
    for (let t = 0, ended = 0; t < most && ended < B; t++) {
      pass.step(t);
      for (let b = 0; b < B; b++) {
        const [token, { tokens, weights }] = [pass.best(t, b), written[b]];
        if (t + 1 < most) pass.tokens[(t + 1) * B + b] = token;
        if (tokens[tokens.length - 1] === EOS) continue;
        if (token === EOS) ended++;
        tokens.push(token);
        if (pass.weights === null) continue;
        const row = pass.weights + (t * B + b) * S;
        weights.push([...f.subarray(row, row + sourceLengths[b])]);
      }
    }
    return written;
  }

  /** The attention weights while the decoder reads a batch's targets, for each row; null without attention.
   * @param {Batch} batch @returns {number[][][] | null} */
  function read(batch) {
    const { rows: B, sourceLength: S, sourceLengths, targetLength: T, target, targetLengths } = batch;
    space.release(mark);
    const pass = decode(space, parameters, settings, batch, T);
    pass.tokens.set(target.subarray(0, (T - 1) * B), B);
    for (let t = 0; t < T; t++) pass.step(t);
    const { weights } = pass;
    if (weights === null) return null;
    const row = (/** @type {number} */ t, /** @type {number} */ b) => weights + (t * B + b) * S;
    return Array.from({ length: B }, (_, b) =>
      Array.from({ length: targetLengths[b] }, (_, t) => [...f.subarray(row(t, b), row(t, b) + sourceLengths[b])]),
    );
  }
  return { settings, space, parameters, loss, write, read, update: adam.update };
}

/** The summed loss; the gradients of its mean per target token take the logits' place.
 * @param {Float32Array} f @param {number} logits @param {Batch} batch @param {number} V */
function crossEntropy(f, logits, { rows: B, targetLength: T, target, targetLengths, tokens }, V) {
  let loss = 0;
  for (let t = 0; t < T; t++)
    for (let b = 0; b < B; b++) {
      const row = logits + (t * B + b) * V;
      if (t >= targetLengths[b]) {
        f.fill(0, row, row + V);
        continue;
      }
      let [most, sum] = [-Infinity, 0];
      for (let i = 0; i < V; i++) most = Math.max(most, f[row + i]);
      for (let i = 0; i < V; i++) sum += Math.exp(f[row + i] - most);
      const own = row + target[t * B + b];
      loss += Math.log(sum) + most - f[own];
      for (let i = 0; i < V; i++) f[row + i] = Math.exp(f[row + i] - most) / (sum * tokens);
      f[own] -= 1 / tokens;
    }
  return loss;
}
