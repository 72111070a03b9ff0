/** The engine beside PyTorch: `node --test golden.mjs` with the cases' file in NMT_GOLDEN. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { makeModel } from "../../nmt/playground/static/engine/model.js";
import { batchOf } from "../../nmt/playground/static/engine/tasks.js";

const { source, target, rate, clip, cases } = JSON.parse(readFileSync(process.env.NMT_GOLDEN, "utf8"));

/** A model with the weights of a case. */
function modelOf({ settings, weights }, plain) {
  const model = makeModel(settings, 1, { numbers: 1 << 18, plain });
  assert.deepEqual(model.parameters.shapes.map(({ name }) => name).sort(), Object.keys(weights).sort());
  for (const { name, shape } of model.parameters.shapes) {
    assert.equal(
      shape.reduce((a, b) => a * b),
      weights[name].length,
      name,
    );
    model.space.f.set(weights[name], model.parameters.at(name));
  }
  return model;
}

function near(actual, expected, most, what) {
  assert.equal(actual.length, expected.length, what);
  actual.forEach((value, i) => {
    assert.ok(Math.abs(value - expected[i]) < most, `${what} [${i}]: ${value}, not ${expected[i]}`);
  });
}

const stretch = (model, at, values) => [...model.space.f.subarray(at, at + values.length)];

for (const plain of [false, true])
  for (const one of cases)
    test(`${one.name}${plain ? ", by loops" : ""}`, () => {
      const [model, batch] = [modelOf(one, plain), batchOf(source, target)];
      model.write(batch, 6).forEach(({ tokens, weights }, b) => {
        assert.deepEqual(tokens, one.searched.tokens[b]);
        near(weights.flat(), one.searched.weights[b].flat(), 1e-5, "attention weights");
      });
      near([model.loss(batch, (t, b) => one.reads[b][t])], [one.sampled], 1e-5, "the loss with scheduled sampling");
      near([model.loss(batch)], [one.losses[0]], 1e-5, "the loss");
      for (const [name, gradient] of Object.entries(one.gradients))
        near(stretch(model, model.parameters.gradient(name), gradient), gradient, 1e-5, `the gradient of ${name}`);
      const losses = one.losses.map(() => {
        const loss = model.loss(batch);
        model.update(rate, clip);
        return loss;
      });
      near(losses, one.losses, 1e-3, "the losses of updates");
      for (const [name, after] of Object.entries(one.after))
        near(stretch(model, model.parameters.at(name), after), after, 1e-3, `after the updates, ${name}`);
    });
