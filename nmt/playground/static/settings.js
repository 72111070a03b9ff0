// @ts-check
/** What may be set, what each choice changes and what to look for, and all of it as the address's last part. */

import { MOST } from "./address.js";

/** @import { Mechanism } from "./engine/worker.js" */
/** @typedef {{wiring: string, score: string, scope: string, window: string, cell: string}} Kind a model's attention and cell */
/** @typedef {{task: string, hidden: number, encoder: string, rate: number, forcing: number, seed: number, models: Kind[], pairs: string}} Chosen `pairs`: those of one's own as `address.js` packs them, "" for the captions */
/** @typedef {{name: string, label: string, options: [string, string, string?][], says: string}} Control an option's value, name, and what it is */

const [EMBEDDING, HIDDEN, ENCODER] = [32, [16, 32, 64, 128], [8, 16, 32, 64]];

/** @param {string} value @returns {[string, string]} an option that is named as it is */
const pair = (value) => [value, value];

/** Of all models. @type {Control[]} */
export const COMMON = [
  {
    name: "task",
    label: "Task",
    options: [
      ["reverse", "reverse a word", "Each step needs exactly one letter of the input."],
      ["dates", "write out a date", "A step needs one or two characters of the input, or a month's name."],
      ["pairs", "translate captions, or your own pairs", "The words of a sentence change their order."],
    ],
    says: "",
  },
  {
    name: "hidden",
    label: "Hidden size",
    options: HIDDEN.map((size) => pair(String(size))),
    says: "The size of the decoder's state. A smaller one learns less, and shows sooner what a fixed context cannot hold.",
  },
  {
    name: "encoder",
    label: "Encoder size",
    options: [["half", "half the hidden size"], ...ENCODER.map((size) => pair(String(size)))],
    says: "The size of a state in each of the encoder's two directions: a memory vector has twice as many elements. The score dot needs as many as the decoder's state has.",
  },
  {
    name: "rate",
    label: "Learning rate",
    options: ["0.001", "0.002", "0.005", "0.01", "0.03"].map(pair),
    says: "How far an update moves the weights. Too low: the loss falls slowly. Too high: it jumps, and may never settle.",
  },
  {
    name: "forcing",
    label: "Teacher forcing",
    options: ["1", "0.75", "0.5", "0"].map(pair),
    says: "How often the decoder reads the reference's last token in training, not the one it wrote itself. Below 1 the first updates are harder.",
  },
  {
    name: "seed",
    label: "Seed",
    options: ["1", "2", "3", "4", "5"].map(pair),
    says: "Decides the first weights and the batches. What differs between two seeds is chance: compare several.",
  },
];

/** Of each model. @type {Control[]} */
export const OWN = [
  {
    name: "wiring",
    label: "Wiring",
    options: [
      ["bahdanau", "Bahdanau", "Bahdanau et al. 2015: before the decoder's step, from the state before it."],
      [
        "luong",
        "Luong",
        "Luong et al. 2015: after the decoder's step, from the new state. The next step reads the result (input feeding).",
      ],
      ["luong_no_feeding", "Luong, no input feeding", "As Luong, but the next step does not read the result."],
      ["none", "no attention", "Never: all that the decoder has of the input is one vector. Long words fail."],
    ],
    says: "When attention is computed.",
  },
  {
    name: "score",
    label: "Score",
    options: [
      ["additive", "additive", "Both are added inside a small network: v · tanh(W s + U h)."],
      ["general", "general", "s · W h: a matrix maps one to the other, then they are multiplied."],
      ["dot", "dot", "s · h, without weights: the encoder must learn to fit the decoder, and the sizes must be equal."],
    ],
    says: "How a state s is compared with a position h.",
  },
  {
    name: "scope",
    label: "Scope",
    options: [
      ["global", "global", "All of them."],
      ["local_p", "local-p, from the middle", "A window around a centre that is predicted: untrained, the middle."],
      [
        "local_diagonal",
        "local-p, from the diagonal",
        "A window around a centre that is predicted: untrained, the diagonal.",
      ],
      ["local_m", "local-m", "A window that moves by one position each step."],
    ],
    says: "Which positions are seen.",
  },
  {
    name: "window",
    label: "Window D",
    options: ["1", "2", "3", "5", "10"].map(pair),
    says: "How many positions the window has on each side of its centre. Outside, the weight is 0.",
  },
  {
    name: "cell",
    label: "Cell",
    options: [
      ["gru", "GRU", "Gated recurrent unit: gates decide how much of the state stays."],
      ["lstm", "LSTM", "Long short-term memory: gates, and a memory cell beside the state."],
      ["mingru", "minGRU", "Its gates do not see the state: watch what attention has to do for it."],
    ],
    says: "What encoder and decoder are made of.",
  },
];

/** @type {Kind} */
const FIRST_KIND = { wiring: "bahdanau", score: "additive", scope: "global", window: "3", cell: "gru" };
/** @type {Chosen} */
const FIRST = {
  pairs: "",
  ...{ task: "reverse", hidden: 64, encoder: "half", rate: 0.005, forcing: 1, seed: 1 },
  models: [FIRST_KIND],
};

/** Those of OWN that change a model. @param {Kind} kind */
export function used({ wiring, scope }) {
  const unused = wiring === "none" ? ["score", "scope", "window"] : scope === "global" ? ["window"] : [];
  return OWN.filter(({ name }) => !unused.includes(name));
}

/** Those that its name and its address have. @param {Kind} kind */
const named = (kind) => used(kind).filter(({ name }) => name !== "cell" || kind.cell !== FIRST_KIND.cell);

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
    const parts = kind.split("."); // in any order: no two controls have the same option
    const partOf = (/** @type {Control} */ { options }) =>
      parts.find((part) => options.some(([option]) => option === part));
    return Object.fromEntries(OWN.map((control) => [control.name, partOf(control) ?? valueOf(FIRST_KIND, control)]));
  });
  return /** @type {any} */ ({ ...common, models, pairs: given.get("pairs") ?? "" });
}

/** The names of settings in an address that this page does not know. @param {string} hash */
export function unknown(hash) {
  const [given, kept] = [hash, toHash(fromHash(hash))].map((one) => new URLSearchParams(one.replace(/^#/, "")));
  const isKnown = (/** @type {string} */ name, /** @type {string} */ value) =>
    name === "model"
      ? value.split(".").every((part) => OWN.some(({ options }) => options.some(([option]) => option === part)))
      : name === "pairs" || kept.get(name) === value;
  return [...new Set([...given].filter(([name, value]) => !isKnown(name, value)).map(([name]) => name))];
}

/** The address's last part. Pairs that are too long for it are left out. @param {Chosen} chosen */
export function toHash({ models, pairs, ...common }) {
  const parts = Object.entries(common).map(([name, value]) => `${name}=${value}`);
  const kinds = models.map(
    (kind) =>
      `model=${named(kind)
        .map((control) => valueOf(kind, control))
        .join(".")}`,
  );
  const own = common.task === "pairs" && pairs && pairs.length <= MOST ? [`pairs=${pairs}`] : [];
  return `#${[...parts, ...kinds, ...own].join("&")}`;
}

/** @param {Kind} kind @param {Control} control */
const valueOf = (kind, { name }) => /** @type {string} */ (/** @type {any} */ (kind)[name]);

/** An option's name for people. @param {Control} control @param {string} value */
export const labelOf = ({ options }, value) => options.find(([option]) => option === value)?.[1] ?? value;

/** A model's name for people. @param {Kind} kind */
export function nameOf(kind) {
  const label = (/** @type {Control} */ control) => labelOf(control, valueOf(kind, control));
  return named(kind)
    .map((control) => (control.name === "window" ? `D = ${kind.window}` : label(control)))
    .join(", ");
}

/** What the engine needs to know of a model. @param {Chosen} chosen @param {Kind} kind @returns {Mechanism} */
export function mechanismOf({ hidden, encoder }, { wiring, score, scope, window, cell }) {
  const [diagonal, feeding] = [scope === "local_diagonal", wiring === "luong"];
  const axes = /** @type {any} */ ({
    ...{ cell, wiring: wiring.startsWith("luong") ? "luong" : wiring, feeding, score },
    scope: diagonal ? "local_p" : scope,
  });
  return {
    ...axes,
    diagonal,
    window: Number(window),
    embedding: EMBEDDING,
    encoder: Number(encoder) || hidden / 2,
    hidden,
  };
}

/** The settings of a model that the engine knows. Throws an Error if this page has none like it.
 * @param {Mechanism} mechanism @returns {{hidden: number, encoder: string, kind: Kind}} */
export function settingsOf(mechanism) {
  const { embedding, encoder, hidden, wiring, feeding, scope, diagonal } = mechanism;
  const half = 2 * encoder === hidden;
  if (embedding !== EMBEDDING || !HIDDEN.includes(hidden) || !(half || ENCODER.includes(encoder)))
    throw new Error(
      `The checkpoint's sizes are embedding ${embedding}, encoder ${encoder} and decoder ${hidden}; those of this page ` +
        `are embedding ${EMBEDDING}, decoder ${HIDDEN.join(", ")}, and encoder ${ENCODER.join(", ")} or half the decoder's.`,
    );
  const kind = {
    wiring: wiring === "luong" && !feeding ? "luong_no_feeding" : wiring,
    score: mechanism.score,
    scope: diagonal ? "local_diagonal" : scope,
    window: String(mechanism.window),
    cell: mechanism.cell,
  };
  for (const control of used(kind)) {
    const options = control.options.map(([option]) => option);
    if (!options.includes(valueOf(kind, control)))
      throw new Error(
        `model.${control.name === "cell" ? "" : "attention."}${control.name} is ${valueOf(kind, control)}: the page has ${options.join(", ")}.`,
      );
  }
  return { hidden, encoder: half ? "half" : String(encoder), kind: { ...FIRST_KIND, ...kind } };
}
