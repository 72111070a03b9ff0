import assert from "node:assert/strict";
import { test } from "node:test";

/** A worker that answers when it is told to, and a page without elements. */
const sent = [];
let hear, fail;
globalThis.Worker = class {
  addEventListener(kind, listener) {
    if (kind === "message") hear = (data) => listener({ data });
    else fail = listener;
  }
  postMessage(message) {
    sent.push(message);
  }
};
const shown = { children: [{}, {}], remove: () => (shown.isGone = true) };
globalThis.document = { getElementById: () => shown };
const { ask, Refused } = await import("../../nmt/export/browser/api.js");
const settled = () => new Promise((resolve) => setTimeout(resolve));
const questions = () => sent.map(({ path, question }) => question?.text ?? path);

test("one question is computed at a time, and one that nobody waits for is left out", async () => {
  const typing = new AbortController();
  const first = ask("/api/explain", { text: "E" });
  const second = ask("/api/explain", { text: "Ei" }, typing.signal);
  const third = ask("/api/explain", { text: "Ein" });
  await settled();
  assert.deepEqual(questions(), ["E"]);
  typing.abort();
  hear({ id: sent[0].id, answer: "a" });
  assert.equal(await first, "a");
  await assert.rejects(second, { name: "AbortError" });
  await settled();
  assert.deepEqual(questions(), ["E", "Ein"]);
  hear({ id: sent[1].id, answer: "one" });
  assert.equal(await third, "one");
});

test("the models are known before the question that waits for one", async () => {
  const waits = ask("/api/explain", { text: "Hund" });
  const models = ask("/api/models");
  await settled();
  const [question, about] = ["/api/explain", "/api/models"].map((path) => sent.findLast((one) => one.path === path));
  hear({ id: about.id, answer: ["1"] });
  assert.deepEqual(await models, ["1"]);
  hear({ id: question.id, error: "text: too long" });
  await assert.rejects(waits, new Refused("text: too long"));
});

test("when the worker dies, all who wait and all who come later are told", async () => {
  const waits = ask("/api/explain", { text: "Hund" });
  await settled();
  fail();
  await assert.rejects(waits, /cannot be loaded/);
  await assert.rejects(ask("/api/explain", { text: "Hunde" }), /cannot be loaded/);
  assert.ok(shown.isGone);
});
