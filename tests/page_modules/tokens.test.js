import assert from "node:assert/strict";
import { test } from "node:test";

import {
  adjoins,
  differing,
  readable,
  sentencesOf,
  spelt,
  unitsOf,
  weightsOf,
  withinSentences,
} from "../../nmt/page/static/tokens.js";

const word = (token, number) => ({ token, label: token, kind: "word", word: number });
const TOKENS = [
  word("▁skate", 0),
  word("board", 0),
  word(".", 1),
  { token: "<eos>", label: "(end)", kind: "end", word: 2 },
];

test("pieces are joined to words, or stay alone", () => {
  assert.deepEqual(
    unitsOf(TOKENS, true).map((unit) => [unit.label, unit.kind, unit.tokens]),
    [
      ["skateboard", "word", [0, 1]],
      [".", "word", [2]],
      ["(end)", "end", [3]],
    ],
  );
  assert.deepEqual(
    unitsOf(TOKENS, false).map((unit) => unit.tokens),
    [[0], [1], [2], [3]],
  );
});

test("a word's weight is a sum over source pieces and a mean over target pieces", () => {
  const weights = [
    [0.1, 0.2, 0.3, 0.4],
    [0.5, 0.1, 0.2, 0.2],
  ];
  const [row] = weightsOf(weights, unitsOf(TOKENS, true), [{ label: "", kind: "word", tokens: [0, 1] }]);
  row.forEach((weight, i) => assert.ok(Math.abs(weight - [0.45, 0.25, 0.3][i]) < 1e-12));
});

test("tokens are read as people write them", () => {
  assert.equal(readable("▁dog"), "dog");
  assert.equal(readable("▁"), "␣");
  assert.equal(readable("<eos>"), "(end)");
  assert.equal(spelt(["▁a", "▁skate", "board", ".", "<eos>"]), "a skateboard. (end)");
  assert.equal(spelt(["a", "dog", "."]), "a dog .");
  assert.equal(spelt(["⇧▁", "▁ein", "⇧▁", "▁t", "-", "⇧▁", "shirt", "⇪▁", "▁abc", "d", "▁e"]), "Ein T-Shirt ABCD e");
  assert.equal(spelt(["▁", "(", "▁", "x", "<unk>", "."]), "( x (unknown).");
});

test("a token stands right behind another one, and a mark of case before its word", () => {
  const tokens = ["⇧▁", "▁ein", "⇧▁", "▁t", "-", "⇧▁", "shirt", ".", "<eos>"];
  const places = tokens.map((_, i) => i).filter((i) => adjoins(tokens, i));
  assert.deepEqual(places, [1, 3, 4, 5, 6, 7]);
  assert.ok(!adjoins(["a", "dog", "."], 2));
});

test("a word has its capitals, and no sign for the space before it", () => {
  const pieces = (...tokens) =>
    tokens.map((token) => ({ token, label: token, kind: token === "▁" ? "space" : "word", word: 0 }));
  const of = (...tokens) => unitsOf(pieces(...tokens), true).map(({ label }) => label);
  assert.deepEqual(of("⇪▁", "▁ab", "c"), ["ABC"]);
  assert.deepEqual(of("▁", "☃"), ["☃"]);
  assert.deepEqual(of("▁"), ["▁"]);
});

test("words that differ are those outside the longest common subsequence", () => {
  const other = ["a", "dog", "is", "running", "over", "the", "grass"];
  assert.deepEqual([...differing(["a", "dog", "runs", "over", "grass"], other)], [2]);
  assert.deepEqual([...differing(other, ["a", "dog", "runs", "over", "grass"])], [2, 3, 5]);
  assert.deepEqual([...differing(["a", "b"], ["a", "b"])], []);
  assert.deepEqual([...differing(["a", "b"], [])], [0, 1]);
});

test("two levels of attention multiply to the whole", () => {
  const segments = [0, 0, 1, 1];
  const weights = [
    [0.1, 0.3, 0.2, 0.4],
    [0, 0, 0.5, 0.5],
  ];
  const sentences = sentencesOf(TOKENS, segments);
  assert.deepEqual(
    sentences.map((unit) => [unit.label, unit.tokens]),
    [
      ["skateboard …", [0, 1]],
      [". (end) …", [2, 3]],
    ],
  );
  const of = weightsOf(weights, sentences, unitsOf(TOKENS.slice(0, 2), false));
  const within = withinSentences(weights, segments);
  within.forEach((row, t) =>
    row.forEach((beta, s) => assert.ok(Math.abs(beta * of[t][segments[s]] - weights[t][s]) < 1e-12)),
  );
  assert.deepEqual(within[1].slice(0, 2), [0, 0]);
});
