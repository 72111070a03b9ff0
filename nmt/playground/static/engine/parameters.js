// @ts-check
/** A model's weights, under the names of PyTorch's state dict, with first values as in `nmt.model.layers`. */

import { CELLS } from "./cells.js";
import { normal } from "./random.js";

/** @import { Space } from "./space.js" */
/** @import { CellName } from "./cells.js" */
/** @typedef {"bahdanau" | "luong" | "none"} Wiring */
/** @typedef {{cell: CellName, wiring: Wiring, feeding: boolean, score: "dot" | "general" | "additive", scope: "global" | "local_p" | "local_m", window: number, diagonal: boolean, embedding: number, encoder: number, hidden: number, sourceTypes: number, targetTypes: number}} Settings */
/** @typedef {{name: string, shape: number[], first: "normal" | "glorot" | "orthogonal" | "zero" | "forget", gates: number}} Shape */
/** @typedef {ReturnType<typeof makeParameters>} Parameters */

/** The names of the encoder's weights in one direction, which PyTorch's own modules have, or `nmt.variants`.
 * @param {CellName} cell @param {number} d 0, or from the end 1 */
export function encoderNames(cell, d) {
  const name = (/** @type {string} */ kind, /** @type {string} */ of) =>
    `encoder.rnn.${kind}_${of}_l0${d ? "_reverse" : ""}`;
  const gates = `encoder.rnn.${d ? "leftward" : "rightward"}.0.gates`;
  if (cell === "mingru") return { input: { weight: `${gates}.weight`, bias: `${gates}.bias` }, recurrent: null };
  const [input, recurrent] = ["ih", "hh"].map((of) => ({ weight: name("weight", of), bias: name("bias", of) }));
  return { input, recurrent };
}

/** The weights of a model. Throws an Error where a score does not fit its sizes.
 * @param {Settings} settings @returns {Shape[]} */
export function shapesOf(settings) {
  const { wiring, score, scope, embedding: E, encoder: h, hidden: H, sourceTypes, targetTypes } = settings;
  const M = 2 * h;
  if (wiring !== "none" && score === "dot" && H !== M)
    throw new Error(
      `The score dot multiplies element by element: a decoder's state has ${H} elements, a memory vector 2 · ${h} = ${M}. ` +
        `Set the encoder size to ${H / 2}, or choose the score general, whose matrix maps one to the other.`,
    );
  const n = CELLS[settings.cell].gates;
  const hasMemory = CELLS[settings.cell].states > 1;
  const forget = hasMemory ? "forget" : "zero"; // of an LSTM: its forget gates begin open
  /** @type {Shape[]} */
  const shapes = [];
  const put = (
    /** @type {string} */ name,
    /** @type {number[]} */ shape,
    /** @type {Shape["first"]} */ first,
    gates = 1,
  ) => void shapes.push({ name, shape, first, gates });
  put("encoder.embedding.weight", [sourceTypes, E], "normal");
  for (const d of [0, 1]) {
    const { input, recurrent } = encoderNames(settings.cell, d);
    put(input.weight, [n * h, E], "glorot", n);
    put(input.bias, [n * h], "zero");
    if (recurrent) put(recurrent.weight, [n * h, h], "orthogonal", n);
    if (recurrent) put(recurrent.bias, [n * h], forget);
  }
  put("decoder.embedding.weight", [targetTypes, E], "normal");
  put("decoder.embedding_gates.weight", [n * H, E], "glorot", n);
  put("decoder.embedding_gates.bias", [n * H], "zero");
  if (wiring !== "none") {
    if (score !== "dot") put("decoder.attention.score.memory.weight", [H, M], "glorot");
    if (score === "additive") {
      put("decoder.attention.score.query.weight", [H, H], "glorot");
      put("decoder.attention.score.v.weight", [1, H], "glorot");
    }
    if (scope === "local_p") {
      put("decoder.attention.scope.hidden.weight", [H, H], "glorot");
      put("decoder.attention.scope.v.weight", [1, H], "glorot");
    }
  }
  put("decoder.bridge.weight", [(hasMemory ? 2 : 1) * H, M], "glorot");
  put("decoder.bridge.bias", [(hasMemory ? 2 : 1) * H], "zero");
  if (settings.cell !== "mingru") {
    put("decoder.rnn.recurrent.0.weight", [n * H, H], "orthogonal", n);
    put("decoder.rnn.recurrent.0.bias", [n * H], forget);
  }
  put("decoder.output.weight", [targetTypes, wiring === "luong" ? H : E], "glorot");
  put("decoder.output.bias", [targetTypes], "zero");
  if (wiring === "luong") {
    if (settings.feeding) put("decoder.feed_gates.weight", [n * H, H], "glorot", n);
    put("decoder.combine.weight", [H, M + H], "glorot");
  } else {
    put("decoder.context_gates.weight", [n * H, M], "glorot", n);
    put("decoder.readout.weight", [E, H + M + E], "glorot");
    put("decoder.readout.bias", [E], "zero");
  }
  return shapes;
}

/** The weights and their gradients: two stretches of a memory, laid out alike.
 * @param {Space} space @param {Settings} settings */
export function makeParameters(space, settings) {
  const shapes = shapesOf(settings);
  const places = new Map(shapes.map(({ name, shape }) => [name, space.zeros(shape.reduce((a, b) => a * b))]));
  const start = /** @type {number} */ (places.get(shapes[0].name));
  const count = space.mark() - start;
  const further = space.zeros(count) - start;
  /** Where a weight is. @param {string} name */
  function at(name) {
    const place = places.get(name);
    if (place === undefined) throw new Error(`no weight ${name}`);
    return place;
  }
  return {
    shapes,
    start,
    count,
    at,
    gradients: start + further,
    gradient: (/** @type {string} */ n) => at(n) + further,
  };
}

/** Draw the first values. @param {Space} space @param {Parameters} parameters @param {() => number} random */
export function initialise({ f }, parameters, random) {
  for (const { name, shape, first, gates } of parameters.shapes) {
    const [rows, columns = 1] = shape;
    const [at, each] = [parameters.at(name), rows / gates];
    if (first === "normal") for (let i = 0; i < rows * columns; i++) f[at + i] = normal(random) * columns ** -0.5;
    if (first === "glorot") {
      const limit = Math.sqrt(6 / (each + columns));
      for (let i = 0; i < rows * columns; i++) f[at + i] = (2 * random() - 1) * limit;
    }
    if (first === "forget") f.fill(1, at + rows / 4, at + rows / 2);
    if (first === "orthogonal")
      for (let gate = 0; gate < gates; gate++) f.set(orthogonal(each, random), at + gate * each * columns);
  }
}

/** A random orthogonal matrix: rows of N(0, 1), made orthogonal one by one. @param {number} size @param {() => number} random */
function orthogonal(size, random) {
  const rows = Array.from({ length: size }, () => Float64Array.from({ length: size }, () => normal(random)));
  const product = (/** @type {Float64Array} */ a, /** @type {Float64Array} */ b) =>
    a.reduce((sum, x, i) => sum + x * b[i], 0);
  rows.forEach((row, r) => {
    for (const before of rows.slice(0, r)) {
      const share = product(row, before);
      for (let i = 0; i < size; i++) row[i] -= share * before[i];
    }
    const length = Math.sqrt(product(row, row));
    for (let i = 0; i < size; i++) row[i] /= length;
  });
  return rows.flatMap((row) => [...row]);
}

/** Adam (Kingma and Ba 2015) with β₁ = 0.9, β₂ = 0.999, ε = 1e-8, after the gradient's norm is limited to `clip`.
 * @param {Space} space @param {Parameters} parameters */
export function makeAdam({ f, zeros }, { start, count, gradients }) {
  const [mean, square] = [zeros(count), zeros(count)];
  let updates = 0;
  /** One update; returns the gradient's norm. @param {number} rate @param {number} clip */
  function update(rate, clip) {
    updates++;
    let sum = 0;
    for (let i = 0; i < count; i++) sum += f[gradients + i] ** 2;
    const norm = Math.sqrt(sum);
    const scale = Math.min(1, clip / (norm + 1e-6));
    const [ofMean, ofSquare] = [1 - 0.9 ** updates, Math.sqrt(1 - 0.999 ** updates)];
    for (let i = 0; i < count; i++) {
      const g = f[gradients + i] * scale;
      const m = (f[mean + i] += 0.1 * (g - f[mean + i]));
      const v = (f[square + i] += 0.001 * (g * g - f[square + i]));
      f[start + i] -= ((rate / ofMean) * m) / (Math.sqrt(v) / ofSquare + 1e-8);
    }
    return norm;
  }
  return { update };
}
