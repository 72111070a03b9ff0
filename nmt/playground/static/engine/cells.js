// @ts-check
/** Recurrent cells, as in configs' `model.cell`, and an embedding's share of their gates.
 *
 * B rows, H numbers of a hidden state, G of all gates. Each module of a cell has `gates` (G / H), `kept` (numbers of a
 * row that its gradient needs, / H), `states` (2 if it has a memory cell), and
 * `step`: from the input's share of the gates and the state before it to the state after it; a row that is not real
 * keeps its state; `backward`: `dGates`, `dRecurrent` (B G) and `dBefore` are set, all from `dAfter`.
 */

import * as gru from "./gru.js";
import * as lstm from "./lstm.js";
import * as mingru from "./mingru.js";

/** @import { Space } from "./space.js" */
/** @import { Parameters } from "./parameters.js" */
/** @typedef {"gru" | "lstm" | "mingru"} CellName */
/** @typedef {(row: number) => boolean} Real whether a row is no padding */
/** @typedef {{transposed: number, bias: number}} Weights the recurrent weight Uᵀ (H G), and its bias */
/** @typedef {{gates: number, before: number, after: number, kept: number, recurrent: number, cell: number}} Places `cell`: how far behind a hidden state its memory cell is */
/** @typedef {{before: number, kept: number, dAfter: number, dBefore: number, dGates: number, dRecurrent: number, cell: number}} BackwardPlaces the gradients' memory cells are B · H behind their hidden states */

export const CELLS = { gru, lstm, mingru };

/** W e + b for the embeddings e of all tokens (types G): a sentence looks its tokens' rows up.
 * @param {Space} space @param {Parameters} parameters
 * @param {{embedding: string, weight: string, bias: string, types: number, E: number, G: number}} names */
export function tableOf(space, { at, gradient }, { embedding, weight, bias, types, E, G }) {
  const values = space.zeros(types * G);
  space.addBias(values, at(bias), types, G);
  space.times(values, at(embedding), space.transposed(at(weight), G, E), types, E, G);
  const gradients = space.zeros(types * G);
  return {
    /** @param {number} to @param {Int32Array} tokens @param {number} first @param {number} rows */
    look(to, tokens, first, rows) {
      for (let b = 0; b < rows; b++) space.copy(to + G * b, values + G * tokens[first + b], G);
    },
    /** @param {number} from @param {Int32Array} tokens @param {number} rows */
    collect(from, tokens, rows) {
      for (let b = 0; b < rows; b++) space.add(gradients + G * tokens[b], from + G * b, G);
    },
    backward() {
      space.outer(gradient(weight), gradients, at(embedding), types, E, G);
      space.sumRows(gradient(bias), gradients, types, G);
      space.times(gradient(embedding), gradients, at(weight), types, G, E);
    },
  };
}
