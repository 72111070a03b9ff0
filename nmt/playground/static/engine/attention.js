// @ts-check
/** Attention: scores and scopes as in `nmt.model.scores` and `nmt.model.scopes`, each with its gradient.
 *
 * B rows, S source positions, H query, M memory vector. The memory is (S B M), a step's weights (B S).
 */

import { sigmoid, tanh } from "./space.js";

/** @import { Space } from "./space.js" */
/** @import { Parameters, Settings } from "./parameters.js" */
/** @import { Batch } from "./tasks.js" */

const SCORE = "decoder.attention.score";
const SCOPE = "decoder.attention.scope";

/** What a score needs of a batch. `score(t, b, s, query)` and `backward(t, b, s, query, dQuery, d)` are of one position;
 * `begin` and `end` are called before and after all of a step's, `finish` after all steps.
 * @param {Space} space @param {Parameters} parameters @param {Settings} settings @param {Batch} batch
 * @param {{values: number, dValues: number}} memory @param {number} steps */
function scoreOf(space, { at, gradient }, settings, batch, memory, steps) {
  const { f, times, outer, zeros, transposed } = space;
  const { rows: B, sourceLength: S } = batch;
  const { hidden: H, encoder } = settings;
  const M = 2 * encoder;
  const name = `${SCORE}.memory.weight`;
  const dot = settings.score === "dot";
  const keys = dot ? memory.values : zeros(S * B * H);
  const dKeys = dot ? memory.dValues : zeros(S * B * H);
  if (!dot) times(keys, memory.values, transposed(at(name), H, M), S * B, M, H);
  const product = {
    begin() {},
    /** @param {number} t @param {number} b @param {number} s @param {number} query */
    score(t, b, s, query) {
      const [q, k] = [query + b * H, keys + (s * B + b) * H];
      let sum = 0;
      for (let i = 0; i < H; i++) sum += f[q + i] * f[k + i];
      return sum;
    },
    /** @param {number} t @param {number} b @param {number} s @param {number} query @param {number} dQuery @param {number} d */
    backward(t, b, s, query, dQuery, d) {
      const [q, k, row] = [query + b * H, (s * B + b) * H, dQuery + b * H];
      for (let i = 0; i < H; i++) {
        f[row + i] += d * f[keys + k + i];
        f[dKeys + k + i] += d * f[q + i];
      }
    },
    end() {},
    finish() {
      if (dot) return;
      outer(gradient(name), dKeys, memory.values, S * B, M, H);
      times(memory.dValues, dKeys, at(name), S * B, H, M);
    },
  };
  if (settings.score !== "additive") return product;
  return additive(space, { at, gradient }, { B, S, H }, { keys, dKeys, finish: product.finish }, steps);
}

/** v_aᵀ tanh(W_a h + U_a v_s). @param {Space} space @param {Pick<Parameters, "at" | "gradient">} parameters
 * @param {{B: number, S: number, H: number}} sizes @param {{keys: number, dKeys: number, finish: () => void}} memory
 * @param {number} steps */
function additive(
  { f, times, outer, zeros, transposed },
  { at, gradient },
  { B, S, H },
  { keys, dKeys, finish },
  steps,
) {
  const [W, v, dv] = [`${SCORE}.query.weight`, at(`${SCORE}.v.weight`), gradient(`${SCORE}.v.weight`)];
  const [turned, kept] = [transposed(at(W), H, H), zeros(steps * B * S * H)];
  const [projected, dProjected] = [zeros(B * H), zeros(B * H)];
  return {
    /** @param {number} query */
    begin(query) {
      f.fill(0, projected, projected + B * H);
      times(projected, query, turned, B, H, H);
    },
    /** @param {number} t @param {number} b @param {number} s */
    score(t, b, s) {
      const [q, k, u] = [projected + b * H, keys + (s * B + b) * H, kept + ((t * B + b) * S + s) * H];
      let sum = 0;
      for (let i = 0; i < H; i++) sum += f[v + i] * (f[u + i] = tanh(f[q + i] + f[k + i]));
      return sum;
    },
    /** @param {number} t @param {number} b @param {number} s @param {number} _query @param {number} _dQuery @param {number} d */
    backward(t, b, s, _query, _dQuery, d) {
      const [q, k, u] = [dProjected + b * H, dKeys + (s * B + b) * H, kept + ((t * B + b) * S + s) * H];
      for (let i = 0; i < H; i++) {
        const tanh = f[u + i];
        const inner = d * f[v + i] * (1 - tanh * tanh);
        f[dv + i] += d * tanh;
        f[q + i] += inner;
        f[k + i] += inner;
      }
    },
    /** @param {number} query @param {number} dQuery */
    end(query, dQuery) {
      times(dQuery, dProjected, at(W), B, H, H);
      outer(gradient(W), dProjected, query, B, H, H);
      f.fill(0, dProjected, dProjected + B * H);
    },
    finish,
  };
}

/** The Gaussian around p_t = S · sigmoid(v_pᵀ tanh(W_p h) + d_t) of local-p (Luong et al. 2015, equations 9 and 10).
 * @param {Space} space @param {Parameters} parameters @param {Settings} settings @param {Batch} batch @param {number} steps */
function localOf({ f, times, outer, zeros, transposed }, { at, gradient }, settings, batch, steps) {
  const { rows: B, sourceLengths } = batch;
  const { hidden: H, window: D, diagonal } = settings;
  const [W, v, dv] = [`${SCOPE}.hidden.weight`, at(`${SCOPE}.v.weight`), gradient(`${SCOPE}.v.weight`)];
  const turned = transposed(at(W), H, H);
  const [hidden, share, dHidden] = [zeros(steps * B * H), zeros(steps * B), zeros(B * H)];
  return {
    /** @param {number} t @param {number} query */
    begin(t, query) {
      times(hidden + t * B * H, query, turned, B, H, H);
      for (let b = 0; b < B; b++) {
        const [row, length] = [hidden + (t * B + b) * H, sourceLengths[b]];
        let logit = 0;
        for (let i = 0; i < H; i++) logit += f[v + i] * (f[row + i] = tanh(f[row + i]));
        const part = (Math.min(t, length - 1) + 0.5) / length;
        f[share + t * B + b] = sigmoid(logit + (diagonal ? Math.log(part / (1 - part)) : 0));
      }
    },
    /** p_t. @param {number} t @param {number} b */
    centre: (t, b) => sourceLengths[b] * f[share + t * B + b],
    /** @param {number} distance */
    gaussian: (distance) => (Math.abs(distance) <= D ? Math.exp(-2 * (distance / D) ** 2) : 0),
    /** The gradient's way from p_t. @param {number} t @param {number} b @param {number} d */
    backward(t, b, d) {
      const part = f[share + t * B + b];
      const logit = d * sourceLengths[b] * part * (1 - part);
      for (let i = 0; i < H; i++) {
        const tanh = f[hidden + (t * B + b) * H + i];
        f[dv + i] += logit * tanh;
        f[dHidden + b * H + i] = logit * f[v + i] * (1 - tanh * tanh);
      }
    },
    /** @param {number} query @param {number} dQuery */
    end(query, dQuery) {
      times(dQuery, dHidden, at(W), B, H, H);
      outer(gradient(W), dHidden, query, B, H, H);
    },
  };
}

/** The window around p_t = min(t, S − 1) of local-m (section 3.2), which has no weights.
 * @param {Settings} settings @param {Batch} batch @returns {ReturnType<typeof localOf>} */
const monotonicOf = ({ window }, { sourceLengths }) => ({
  begin() {},
  centre: (t, b) => Math.min(t, sourceLengths[b] - 1),
  gaussian: (distance) => (Math.abs(distance) <= window ? 1 : 0),
  backward() {},
  end() {},
});

/** Attention over a batch's memory for so many steps.
 * @param {Space} space @param {Parameters} parameters @param {Settings} settings @param {Batch} batch
 * @param {{values: number, dValues: number}} memory @param {number} steps */
export function attentionOf(space, parameters, settings, batch, memory, steps) {
  const { f, zeros } = space;
  const { rows: B, sourceLength: S, sourceLengths } = batch;
  const M = 2 * settings.encoder;
  const score = scoreOf(space, parameters, settings, batch, memory, steps);
  const local =
    settings.scope === "global"
      ? null
      : settings.scope === "local_m"
        ? monotonicOf(settings, batch)
        : localOf(space, parameters, settings, batch, steps);
  const softmax = zeros(steps * B * S);
  const weights = local ? zeros(steps * B * S) : softmax;
  const d = new Float64Array(S);

  /** The context (B M) of step t is added to `context`. @param {number} t @param {number} query @param {number} context */
  function forward(t, query, context) {
    score.begin(query);
    local?.begin(t, query);
    for (let b = 0; b < B; b++) {
      const row = (t * B + b) * S;
      const inside = (/** @type {number} */ s) => !local || Math.abs(s - local.centre(t, b)) <= settings.window;
      let [most, sum] = [-Infinity, 0];
      for (let s = 0; s < sourceLengths[b]; s++)
        if (inside(s)) most = Math.max(most, (f[softmax + row + s] = score.score(t, b, s, query)));
      for (let s = 0; s < sourceLengths[b]; s++)
        if (inside(s)) sum += f[softmax + row + s] = Math.exp(f[softmax + row + s] - most);
      for (let s = 0; s < sourceLengths[b]; s++) {
        if (!inside(s)) continue;
        let weight = (f[softmax + row + s] /= sum);
        if (local) weight = f[weights + row + s] = weight * local.gaussian(s - local.centre(t, b));
        const [to, from] = [context + b * M, memory.values + (s * B + b) * M];
        for (let i = 0; i < M; i++) f[to + i] += weight * f[from + i];
      }
    }
  }

  /** From `dContext` (B M) to the memory, the weights, and `dQuery` (B H), to which it is added.
   * @param {number} t @param {number} query @param {number} dQuery @param {number} dContext */
  function backward(t, query, dQuery, dContext) {
    for (let b = 0; b < B; b++) {
      const [row, length] = [(t * B + b) * S, sourceLengths[b]];
      let [mean, dCentre] = [0, 0];
      for (let s = 0; s < length; s++) {
        const [from, value] = [dContext + b * M, (s * B + b) * M];
        let sum = 0;
        const weight = f[weights + row + s];
        for (let i = 0; i < M; i++) {
          sum += f[from + i] * f[memory.values + value + i];
          f[memory.dValues + value + i] += weight * f[from + i];
        }
        if (local) {
          const distance = s - local.centre(t, b);
          dCentre += sum * weight * ((4 * distance) / settings.window ** 2);
          sum *= local.gaussian(distance);
        }
        d[s] = sum;
        mean += sum * f[softmax + row + s];
      }
      for (let s = 0; s < length; s++) {
        const part = f[softmax + row + s];
        if (part) score.backward(t, b, s, query, dQuery, part * (d[s] - mean));
      }
      local?.backward(t, b, dCentre);
    }
    score.end(query, dQuery);
    local?.end(query, dQuery);
  }
  return { forward, backward, finish: score.finish, weights };
}
