import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { checkpointOf, fromCheckpoint } from "../../nmt/playground/static/engine/checkpoint.js";
import { dataOf } from "../../nmt/playground/static/engine/data.js";
import { makeModel } from "../../nmt/playground/static/engine/model.js";
import { readFile, writeFile } from "../../nmt/playground/static/engine/safetensors.js";
import { sha256 } from "../../nmt/playground/static/engine/sha256.js";
import { fromHash, mechanismOf, settingsOf } from "../../nmt/playground/static/settings.js";

test("a digest is SHA-256's, whatever the number of bytes", () => {
  for (const size of [0, 1, 55, 56, 63, 64, 65, 1000]) {
    const bytes = Uint8Array.from({ length: size }, (_, i) => (i * 131) % 256);
    assert.equal(sha256(bytes), createHash("sha256").update(bytes).digest("hex"));
  }
});

const chosen = fromHash("#task=reverse&hidden=16&model=luong.dot.local_diagonal.2");
const mechanism = mechanismOf(chosen, chosen.models[0]);
const data = dataOf("reverse", 1);
const sizes = { sourceTypes: data.source.tokens.length, targetTypes: data.target.tokens.length };
const model = makeModel({ ...mechanism, ...sizes }, 1);
const file = checkpointOf({ ...chosen, languages: ["xx", "xx"], updates: 0 }, mechanism, data, model);

test("a checkpoint gives back the settings, the tokens and the weights", () => {
  const { task, settings, start } = fromCheckpoint(file, settingsOf);
  assert.equal(task, "reverse");
  assert.deepEqual(settings, { hidden: 16, encoder: "half", kind: chosen.models[0] });
  assert.deepEqual(start.source, data.source.tokens);
  for (const { name } of model.parameters.shapes) {
    const at = model.parameters.at(name);
    assert.deepEqual(start.weights[name], model.space.f.slice(at, at + start.weights[name].length));
  }
});

/** The checkpoint's file with another config. */
function altered(change) {
  const { contents, tensors } = readFile(file, "model.");
  change(contents);
  return writeFile(contents, tensors);
}

test("what is no checkpoint, or no model of this page, is refused in one line", () => {
  const damaged = file.slice();
  damaged[damaged.length - 1] ^= 1;
  for (const [wrong, message] of [
    [new Uint8Array(3), /^Error: This is no checkpoint of nmt/],
    [new Uint8Array(300), /^Error: This is no checkpoint of nmt/],
    [file.slice(0, 200), /^Error: This is no checkpoint of nmt/],
    [damaged, /^Error: The checkpoint is damaged: its checksum is wrong\.$/],
    [altered((contents) => (contents.format = 5)), /format 5, not 4/],
    [
      altered(({ config }) => (config.model.encoder.layers = 2)),
      /^Error: model.encoder.layers is 2: the page has 1 alone/,
    ],
    [
      altered(({ config }) => (config.model.decoder.dropout = 0.3)),
      /model.decoder.dropout is 0.3: the page has 0 alone/,
    ],
    [altered(({ config }) => (config.model.attention.heads = 2)), /model.attention.heads is 2/],
    [
      altered(({ config }) => (config.model.attention.monotonic = { chunk: 2 })),
      /model.attention.monotonic is {"chunk":2}: the page has null alone/,
    ],
    [altered(({ config }) => (config.model.attention.latent = {})), /model.attention.latent is {}: the page has null/],
    [
      altered(({ config }) => (config.data.source.tokenizer = "sentencepiece")),
      /data.source.tokenizer is sentencepiece/,
    ],
    [altered(({ source }) => source.tokens.pop()), /encoder.embedding.weight has shape 30,32, and 29,32 is needed/],
  ])
    assert.throws(() => fromCheckpoint(wrong, settingsOf), message);
  for (const [change, message] of [
    [{ embedding: 64 }, /sizes are embedding 64, encoder 8 and decoder 16; those of this page/],
    [{ encoder: 24 }, /encoder 24/],
    [{ scope: "hierarchical", diagonal: false }, /model.attention.scope is hierarchical: the page has global/],
    [{ cell: "qrnn" }, /model.cell is qrnn: the page has gru, lstm, mingru\./],
    [{ window: 4 }, /model.attention.window is 4: the page has 1, 2, 3, 5, 10\./],
  ])
    assert.throws(() => settingsOf({ ...mechanism, ...change }), message);
});

test("a checkpoint's tokens are those of the task, or training does not begin", () => {
  const { start } = fromCheckpoint(file, settingsOf);
  assert.deepEqual(dataOf("reverse", 1, "", start).batch(0), data.batch(0));
  assert.throws(() => dataOf("dates", 1, "", start), /^Error: The checkpoint has no token ".*" of this task/);
});
