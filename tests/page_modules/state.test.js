import assert from "node:assert/strict";
import { test } from "node:test";

import { fromAddress, termsOf, toAddress, writtenTerms } from "../../nmt/page/static/state.js";
import { answerFrom } from "../../nmt/page/static/stored.js";

const read = (hash) => {
  globalThis.location = { hash };
  return fromAddress((model) => `Ein Hund für ${model}.`);
};

test("what an address holds is what was shown", () => {
  const state = {
    view: "beam",
    text: "Zwei & drei = fünf # 100 %",
    whole: "Eins. Zwei & drei = fünf # 100 %",
    model: "2",
    beam: 7,
    words: false,
    part: "2",
    prefix: ["▁a", "<unk>", '"'],
    forced: [
      [0, 3],
      [2, 1],
    ],
    glossary: [["Hund & Co", "hound; pack = many"]],
    step: 4,
    mind: 2,
    node: 11,
    models: ["1", "3"],
    reference: "two & three",
    runs: ["1f", "2e"],
    set: "1",
    metric: "bleu",
    order: "difference",
    bucket: 2,
    line: 17,
    block: "encoder",
    side: "source",
  };
  assert.deepEqual(read(toAddress(state)), state);
});

test("terms are read as they are written, and what is not whole is left out", () => {
  const terms = [
    ["Hund", "hound"],
    ["grüne Wiese", "green lawn"],
  ];
  assert.deepEqual(termsOf(" Hund=hound;grüne Wiese = green lawn ; Katze =; = cat; a = b = c"), terms);
  assert.deepEqual(termsOf(writtenTerms(terms)), terms);
  assert.deepEqual(read("#glossary=[[1,2],[%22a%22,%22%22],[%22a%22,%22b%22]]").glossary, [["a", "b"]]);
});

test("an address without anything, or with anything, gives a state that can be shown", () => {
  const plain = read("");
  assert.deepEqual(
    [plain.view, plain.text, plain.model, plain.beam, plain.words],
    ["attention", "Ein Hund für 1.", "1", null, true],
  );
  assert.equal(read("#model=2").text, "Ein Hund für 2.");
  const odd = read(
    "#beam=-3&prefix=[1,null,%22a%22,%22%22]&forced=[[1,2],[1],7,[-1,0],[0.5,1]]&step=x&models=,,1,2,3,4,5",
  );
  assert.deepEqual([odd.beam, odd.prefix, odd.forced, odd.step], [null, ["a"], [[1, 2]], 0]);
  assert.deepEqual(odd.models, ["1", "2", "3", "4"]);
  assert.equal(read("#beam=999").beam, 50);
  assert.deepEqual(
    ["sentence", "within", "12", "0", "-1", "1e3", "x"].map((part) => read(`#part=${part}`).part),
    ["sentence", "within", "12", "", "", "", ""],
  );
  assert.deepEqual(read("#prefix={broken").prefix, []);
});

test("a stored answer is found by what decides it", () => {
  const stored = [
    { path: "/api/models", answer: ["models"] },
    { path: "/api/explain", question: { text: "a", prefix: [] }, answer: 1 },
    { path: "/api/explain", question: { text: "a", prefix: ["b"] }, answer: 2 },
  ];
  assert.deepEqual(answerFrom(stored, "/api/models"), ["models"]);
  assert.equal(answerFrom(stored, "/api/explain", { model: "1", text: "a", prefix: [], forced: [] }), 1);
  assert.equal(answerFrom(stored, "/api/explain", { text: "a", prefix: ["b"], beam_size: 5 }), 2);
  assert.equal(answerFrom(stored, "/api/explain", { text: "a", prefix: ["c"] }), undefined);
  assert.equal(answerFrom(stored, "/api/explain", { text: "a", prefix: [], forced: [[0, 1]] }), undefined);
});
