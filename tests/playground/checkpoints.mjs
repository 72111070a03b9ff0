/** What Python tells the engine to do: `node checkpoints.mjs ORDER`, a JSON file; the answer is JSON on standard output. */

import { readFileSync, writeFileSync } from "node:fs";

import { checkpointOf, fromCheckpoint } from "../../nmt/playground/static/engine/checkpoint.js";
import { dataOf } from "../../nmt/playground/static/engine/data.js";
import { makeModel } from "../../nmt/playground/static/engine/model.js";
import { EOS } from "../../nmt/playground/static/engine/tasks.js";
import { fromHash, mechanismOf, settingsOf } from "../../nmt/playground/static/settings.js";

/** A model is trained, and saved; the answer is what it writes. */
function train({ hash, text, languages, updates, file }) {
  const chosen = fromHash(hash);
  const data = dataOf(chosen.task, chosen.seed, text);
  const mechanism = mechanismOf(chosen, chosen.models[0]);
  const sizes = { sourceTypes: data.source.tokens.length, targetTypes: data.target.tokens.length };
  const model = makeModel({ ...mechanism, ...sizes }, chosen.seed);
  for (let update = 0; update < updates; update++) {
    model.loss(data.batch(update));
    model.update(chosen.rate, 1);
  }
  writeFileSync(file, checkpointOf({ ...chosen, languages, updates }, mechanism, data, model));
  const words = (tokens) => tokens.filter((id) => id !== EOS).map((id) => data.target.tokens[id]);
  return {
    sources: data.held.map(({ source }) => source),
    written: model.write(data.encoded(data.held), data.most).map(({ tokens }) => words(tokens)),
    tables: { train: data.table(false), "held-out": data.table(true) },
  };
}

/** The loss of a checkpoint's model on the pairs held out. */
function read({ task, text, file }) {
  const { mechanism, start } = fromCheckpoint(readFileSync(file), settingsOf);
  const data = dataOf(task, 1, text, start);
  const model = makeModel({ ...mechanism, sourceTypes: start.source.length, targetTypes: start.target.length }, 1);
  for (const [name, values] of Object.entries(start.weights)) model.space.f.set(values, model.parameters.at(name));
  return { mechanism, loss: model.loss(data.encoded(data.held)) };
}

const order = JSON.parse(readFileSync(process.argv[2], "utf8"));
try {
  console.log(JSON.stringify({ train, read }[order.do](order)));
} catch (error) {
  console.log(JSON.stringify({ error: error.message }));
}
