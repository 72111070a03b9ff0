// @ts-check
/** The graphs of nmt/export/graphs.py, run by onnxruntime for one sentence: encoder, step, and the trace of its attention. */

import { candidates } from "./search.js";
import { BOS, EOS, PAD } from "./vocabulary.js";

/** @typedef {Record<string, any>} Tensors by their names in the graphs */
/** @typedef {{values: Tensors, forced: any}} Encoded the first state and the memory; which source positions are forced */
/** @typedef {{chosen: number, probability: number, place: number, likeliest: [number, number][], trace: Tensors}} Taken */

const SHOWN = 10; // of the likeliest tokens of a step

/** @param {any} ort onnxruntime @param {{encoder: any, step: any, trace: any}} sessions */
export function translationModel(ort, { encoder, step, trace }) {
  const states = /** @type {string[]} */ (encoder.outputNames).filter((name) => name.startsWith("state_"));
  const whole = (/** @type {number[]} */ numbers, /** @type {number[]} */ dims) =>
    new ort.Tensor("int64", BigInt64Array.from(numbers, BigInt), dims);
  const read = (/** @type {any} */ graph, /** @type {Tensors} */ values) =>
    graph.run(Object.fromEntries(graph.inputNames.map((/** @type {string} */ name) => [name, values[name]])));
  const newStates = (/** @type {Tensors} */ made) =>
    Object.fromEntries(states.map((name) => [name, made[`new_${name}`]]));

  /** @param {number[]} ids of the source, without its end @param {[number, number][]} forced pairs of a target and a
   * source position, from 0: at that step all attention lies there @returns {Promise<Encoded>} */
  async function encode(ids, forced) {
    const source = [...ids, EOS];
    const table = new Array(Math.max(-1, ...forced.map(([t]) => t)) + 2).fill(-1);
    for (const [t, s] of forced) table[t] = s;
    const lengths = whole([source.length], [1]);
    const values = await encoder.run({ source: whole(source, [1, source.length]), lengths });
    return { values, forced: whole(table, [table.length]) };
  }

  /** A search's step over an encoded sentence; its state begins as `encoded.values`.
   * @param {Encoded} encoded @returns {import("./search.js").Step} */
  function stepOf({ values, forced }) {
    return async (tokens, parents, state) => {
      const rows = Object.fromEntries(states.map((name) => [name, selected(ort, state[name], parents)]));
      const made = await read(step, { ...values, ...rows, forced, tokens: whole(tokens, [1, tokens.length]) });
      return [made.log_probabilities.data, newStates(made)];
    };
  }

  /** The steps in which the model writes some target ids, one for each.
   * @param {Encoded} encoded @param {number[]} ids @returns {Promise<Taken[]>} */
  async function write({ values, forced }, ids) {
    const taken = [];
    let before = values;
    for (const [t, chosen] of ids.entries()) {
      const tokens = whole([ids[t - 1] ?? BOS], [1, 1]);
      const made = await read(step, { ...values, ...before, forced, tokens });
      const one = Object.fromEntries([
        ...states.map((name) => [name, alone(before[name])]),
        ...states.map((name) => [`new_${name}`, alone(made[`new_${name}`])]),
      ]);
      taken.push({
        ...chances(made.log_probabilities.data, chosen),
        trace: await read(trace, { ...values, ...one, forced }),
      });
      before = newStates(made);
    }
    return taken;
  }

  return { encode, stepOf, write };
}

/** @typedef {ReturnType<typeof translationModel>} Model */

/** Some rows of a state (1 K …), in another order or several times. @param {any} ort @param {any} state @param {number[]} rows */
function selected(ort, { type, data, dims: [, count, ...rest] }, rows) {
  const size = data.length / count;
  const chosen = new data.constructor(rows.length * size);
  rows.forEach((row, i) => chosen.set(data.subarray(row * size, (row + 1) * size), i * size));
  return new ort.Tensor(type, chosen, [1, rows.length, ...rest]);
}

/** A state (1 1 …) of the only hypothesis, (1 …). @param {any} state */
const alone = (state) => state.reshape([1, ...state.dims.slice(2)]);

/** How likely a token was, how many were likelier, and the likeliest. @param {Float32Array} logProbabilities @param {number} chosen */
function chances(logProbabilities, chosen) {
  const own = logProbabilities[chosen];
  const likelier = (/** @type {number} */ p, /** @type {number} */ id) => p > own && id !== PAD && id !== BOS;
  const likeliest = candidates(logProbabilities, [0], SHOWN).map(
    ({ token, score }) => /** @type {[number, number]} */ ([token, Math.exp(score)]),
  );
  return { chosen, probability: Math.exp(own), place: logProbabilities.filter(likelier).length, likeliest };
}
