// @ts-check
/** What may be set, what each choice changes and what to look for, and all of it as the address's last part. */

/** @import { Mechanism } from "./engine/worker.js" */
/** @typedef {{wiring: string, score: string, scope: string}} Kind a model's attention */
/** @typedef {{task: string, hidden: number, rate: number, forcing: number, seed: number, models: Kind[]}} Chosen */
/** @typedef {{name: string, label: string, options: [string, string][], says: string}} Control */

/** Of all models. @type {Control[]} */
export const COMMON = [
  {
    name: "task",
    label: "Task",
    options: [
      ["reverse", "reverse a word"],
      ["dates", "write out a date"],
      ["pairs", "translate captions, or your own pairs"],
    ],
    says: "What is learnt. Reversing needs exactly one letter per step; a date needs some of its letters; a sentence, words in another order.",
  },
  {
    name: "hidden",
    label: "Hidden size",
    options: ["16", "32", "64", "128"].map((size) => [size, size]),
    says: "The size of the decoder's state. A smaller one learns less, and shows sooner what a fixed context cannot hold.",
  },
  {
    name: "rate",
    label: "Learning rate",
    options: ["0.001", "0.002", "0.005", "0.01", "0.03"].map((rate) => [rate, rate]),
    says: "How far an update moves the weights. Too low: the loss falls slowly. Too high: it jumps, and may never settle.",
  },
  {
    name: "forcing",
    label: "Teacher forcing",
    options: ["1", "0.75", "0.5", "0"].map((ratio) => [ratio, ratio]),
    says: "How often the decoder reads the right last token in training, not its own. Below 1 the first updates are harder.",
  },
  {
    name: "seed",
    label: "Seed",
    options: ["1", "2", "3", "4", "5"].map((seed) => [seed, seed]),
    says: "Decides the first weights and the batches. What differs between two seeds is chance: compare several.",
  },
];

/** Of each model. @type {Control[]} */
export const OWN = [
  {
    name: "wiring",
    label: "Wiring",
    options: [
      ["bahdanau", "Bahdanau"],
      ["luong", "Luong"],
      ["luong_no_feeding", "Luong, no input feeding"],
      ["none", "no attention"],
    ],
    says: "When attention is computed: before the GRU's step (Bahdanau), after it (Luong), or never. Without it, long words fail.",
  },
  {
    name: "score",
    label: "Score",
    options: [
      ["additive", "additive"],
      ["general", "general"],
      ["dot", "dot"],
    ],
    says: "How a state is compared with a position. Dot has no weights of its own: the encoder must learn to fit the decoder.",
  },
  {
    name: "scope",
    label: "Scope",
    options: [
      ["global", "global"],
      ["local_p", "local-p, D = 3"],
    ],
    says: "Which positions are seen: all, or a window of 3 on each side of a centre that is learnt. Watch the window move.",
  },
];

/** @type {Chosen} */
const FIRST = {
  ...{ task: "reverse", hidden: 64, rate: 0.005, forcing: 1, seed: 1 },
  models: [{ wiring: "bahdanau", score: "additive", scope: "global" }],
};

/** @param {Control} control @param {string | null | undefined} value @param {string} otherwise */
const allowed = ({ options }, value, otherwise) =>
  value !== null && value !== undefined && options.some(([option]) => option === value) ? value : otherwise;

/** @param {string} hash @returns {Chosen} what is not known there is as it is at first */
export function fromHash(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const common = Object.fromEntries(
    COMMON.map((control) => {
      const first = /** @type {any} */ (FIRST)[control.name];
      const value = allowed(control, given.get(control.name), String(first));
      return [control.name, typeof first === "number" ? Number(value) : value];
    }),
  );
  const kinds = given.getAll("model").slice(0, 2);
  const models = (kinds.length ? kinds : [""]).map((kind) => {
    const parts = kind.split(".");
    const first = /** @type {any} */ (FIRST.models[0]);
    return Object.fromEntries(OWN.map((control, i) => [control.name, allowed(control, parts[i], first[control.name])]));
  });
  return /** @type {any} */ ({ ...common, models });
}

/** @param {Chosen} chosen */
export function toHash({ models, ...common }) {
  const parts = Object.entries(common).map(([name, value]) => `${name}=${value}`);
  const kinds = models.map(
    ({ wiring, score, scope }) => `model=${wiring === "none" ? "none" : [wiring, score, scope].join(".")}`,
  );
  return `#${[...parts, ...kinds].join("&")}`;
}

/** A model's name for people. @param {Kind} kind */
export function nameOf({ wiring, score, scope }) {
  const label = (/** @type {number} */ i, /** @type {string} */ value) =>
    OWN[i].options.find(([option]) => option === value)?.[1];
  return wiring === "none" ? "no attention" : `${label(0, wiring)}, ${score}, ${label(2, scope)}`;
}

/** What the engine needs to know of a model. @param {Chosen} chosen @param {Kind} kind @returns {Mechanism} */
export function mechanismOf({ hidden }, { wiring, score, scope }) {
  const axes = /** @type {any} */ ({ wiring: wiring.startsWith("luong") ? "luong" : wiring, score, scope });
  const more = { feeding: wiring === "luong", window: 3, diagonal: false };
  return { ...axes, ...more, embedding: 32, encoder: hidden / 2, hidden };
}
