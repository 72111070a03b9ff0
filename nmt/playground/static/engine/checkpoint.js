// @ts-check
/** Models as checkpoints of nmt, and back: what a config says of a model, and what of it this page has, too. */

import { BATCH } from "./data.js";
import { shapesOf } from "./parameters.js";
import { readFile, writeFile } from "./safetensors.js";

/** @import { Data } from "./data.js" */
/** @import { Model } from "./model.js" */
/** @import { Mechanism } from "./worker.js" */
/** @typedef {{task: string, languages: [string, string], seed: number, rate: number, forcing: number, updates: number}} Training */
/** @typedef {{source: string[], target: string[], weights: Record<string, Float32Array>}} Start the tokens and weights that training begins with */

const FORMAT = 4;
const PREFIX = "model.";
const LARGEST = 5e7; // bytes
/** Fields of a config, and the one value of each that the page has. @type {Record<string, unknown>} */
const FIXED = {
  ...{ "data.source.lowercase": false, "data.target.lowercase": false },
  ...{ "model.embedding_dropout": 0, "model.tied_embeddings": "none" },
  ...Object.fromEntries(
    ["encoder", "decoder"].flatMap((side) => [
      [`model.${side}.layers`, 1],
      [`model.${side}.dropout`, 0],
      [`model.${side}.layer_norm`, false],
    ]),
  ),
  ...{ "model.encoder.self_attention": 0, "model.decoder.readout": "tanh", "model.attention.normalizer": "softmax" },
  ...{ "model.attention.hard": false, "model.attention.key_value": false, "model.attention.heads": 1 },
  ...{ "model.attention.projected": false, "model.attention.coverage": false, "model.attention.monotonic": null },
  ...{ "model.attention.latent": null },
};
const TOKENIZERS = ["char", "spacy", "whitespace"];

/** A checkpoint's file. @param {Training} training @param {Mechanism} mechanism @param {Data} data @param {Model} model */
export function checkpointOf(training, mechanism, data, { parameters, space }) {
  const tensors = parameters.shapes.map(({ name, shape }) => {
    const size = shape.reduce((a, b) => a * b);
    return [PREFIX + name, { shape, values: space.f.subarray(parameters.at(name), parameters.at(name) + size) }];
  });
  const side = (/** @type {string[]} */ tokens) => ({ tokens, subword_model: null });
  const contents = {
    format: FORMAT,
    config: configOf(training, mechanism, data.most),
    ...{ source: side(data.source.tokens), target: side(data.target.tokens) },
    ...{ model: {}, scales: {}, threshold: null, rarity_threshold: null, training: null },
  };
  return writeFile(contents, Object.fromEntries(tensors));
}

/** The fields that are not as by default. @param {Training} training @param {Mechanism} mechanism @param {number} most */
function configOf({ task, languages, seed, rate, forcing, updates }, mechanism, most) {
  const { cell, embedding, encoder, hidden } = mechanism;
  const side = (/** @type {string} */ name, /** @type {number} */ i) => ({
    ...{ language: languages[i], tokenizer: task === "pairs" ? "spacy" : "char", lowercase: false },
    ...{ train: `${task}-train.tsv#${name}`, validation: `${task}-held-out.tsv#${name}` },
  });
  return {
    name: `playground-${task}`,
    data: { corpus: "files", source: side("source", 0), target: side("target", 1) },
    model: {
      ...{ cell, embedding_size: embedding, embedding_dropout: 0 },
      encoder: { hidden_size: encoder, dropout: 0 },
      decoder: { hidden_size: hidden, dropout: 0 },
      attention: attentionOf(mechanism),
    },
    training: {
      ...{ max_epochs: null, max_updates: Math.max(1, updates), batch_size: BATCH, learning_rate: rate },
      ...{ label_smoothing: 0, teacher_forcing: forcing, seed },
    },
    search: { beam_size: 1, max_length: most, split: false, block_repeats: false },
  };
}

/** The section `model.attention`. @param {Mechanism} mechanism */
function attentionOf({ wiring, feeding, score, scope, window, diagonal }) {
  if (wiring === "none") return { wiring };
  const ofWiring = wiring === "luong" ? { input_feeding: feeding } : {};
  const ofScope = scope === "global" ? {} : { window, narrow_updates: 0 };
  const ofCentre = scope === "local_p" ? { initial_position: diagonal ? "diagonal" : "middle" } : {};
  return { wiring, score, scope, ...ofWiring, ...ofScope, ...ofCentre };
}

/** The model in a checkpoint's file. Throws an Error that says what is wrong, or what the page does not have.
 * @template S @param {Uint8Array} file @param {(mechanism: Mechanism) => S} settingsOf the page's settings of a mechanism
 * @returns {{task: string | null, settings: S, mechanism: Mechanism, start: Start}} */
export function fromCheckpoint(file, settingsOf) {
  if (file.length > LARGEST) throw new Error("The file is larger than any model of this page.");
  const { contents, tensors } = readFile(file, PREFIX);
  const { config, source, target } = contents;
  if (contents.format !== FORMAT) throw new Error(`The checkpoint has format ${contents.format}, not ${FORMAT}.`);
  checkFields(config);
  const mechanism = mechanismIn(config.model);
  const settings = settingsOf(mechanism);
  const sizes = { sourceTypes: source.tokens.length, targetTypes: target.tokens.length };
  /** @type {Start} */
  const start = { source: source.tokens, target: target.tokens, weights: {} };
  for (const { name, shape } of shapesOf({ ...mechanism, ...sizes })) {
    const tensor = tensors[PREFIX + name];
    if (tensor?.shape.join() !== shape.join())
      throw new Error(`${name} has shape ${tensor?.shape ?? "nothing"}, and ${shape} is needed: use another copy.`);
    start.weights[name] = tensor.values;
  }
  return { task: /^playground-(reverse|dates|pairs)$/.exec(config.name)?.[1] ?? null, settings, mechanism, start };
}

/** @param {any} config */
function checkFields(config) {
  const at = (/** @type {string} */ path) => path.split(".").reduce((section, name) => section?.[name], config);
  for (const [path, value] of Object.entries(FIXED))
    if ((at(path) ?? value) !== value)
      throw new Error(`${path} is ${JSON.stringify(at(path))}: the page has ${JSON.stringify(value)} alone.`);
  for (const [path, size] of /** @type {const} */ ([
    ["model.decoder.readout_size", at("model.embedding_size")],
    ["model.attention.size", at("model.decoder.hidden_size")],
  ]))
    if ((at(path) ?? size) !== size) throw new Error(`${path} is ${at(path)}: the page has ${size} alone.`);
  for (const side of ["source", "target"])
    if (!TOKENIZERS.includes(at(`data.${side}.tokenizer`)))
      throw new Error(
        `data.${side}.tokenizer is ${at(`data.${side}.tokenizer`)}: the page has ${TOKENIZERS.join(", ")}.`,
      );
}

/** @param {any} model the section of a config @returns {Mechanism} */
function mechanismIn({ cell = "gru", embedding_size: embedding, encoder, decoder, attention }) {
  const { wiring, score = "additive", scope = "global", window = 3 } = attention;
  const feeding = wiring === "luong" && attention.input_feeding !== false;
  const diagonal = scope === "local_p" && attention.initial_position !== "middle";
  const sizes = { embedding, encoder: encoder.hidden_size, hidden: decoder.hidden_size };
  return { cell, wiring, feeding, score, scope, window, diagonal, ...sizes };
}
