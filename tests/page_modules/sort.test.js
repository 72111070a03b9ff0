import assert from "node:assert/strict";
import { test } from "node:test";

import { bucketOf, ordered, orders } from "../../nmt/page/static/sort.js";

const TABLE = {
  source: ["a", "b", "c", "d"],
  lengths: [3, 9, 9, 1],
  models: [
    { id: "1", chrf: [50, 40, 90, 50], bleu: [1, 2, 3, 4], missing: [0, 2, 1, 0] },
    { id: "3", chrf: [10, 60, 80, 50], bleu: [4, 3, 2, 1], missing: [1, 0, 1, 3] },
  ],
};

test("sentences are ordered by length, by a score, and by a difference", () => {
  assert.deepEqual(ordered(TABLE, "chrf", "line"), [0, 1, 2, 3]);
  assert.deepEqual(ordered(TABLE, "chrf", "length"), [1, 2, 0, 3]);
  assert.deepEqual(ordered(TABLE, "chrf", "1"), [1, 0, 3, 2]);
  assert.deepEqual(ordered(TABLE, "bleu", "3"), [3, 2, 1, 0]);
  assert.deepEqual(ordered(TABLE, "chrf", "1-3"), [0, 2, 3, 1]);
  assert.deepEqual(ordered(TABLE, "chrf", "3-1"), [1, 3, 2, 0]);
  assert.deepEqual(ordered(TABLE, "missing", "1"), [1, 2, 0, 3]);
  assert.deepEqual(ordered(TABLE, "missing", "1-3"), [3, 0, 2, 1]);
});

test("an order by a model that is not done yet, or that is not known, is the file's", () => {
  for (const order of ["2", "1-2", "2-1", "", "x-y-z"]) assert.deepEqual(ordered(TABLE, "chrf", order), [0, 1, 2, 3]);
});

test("every pair of models can be compared both ways", () => {
  const names = orders([
    { id: "1", name: "a" },
    { id: "2", name: "b" },
    { id: "3", name: "c" },
  ]).map(([key]) => key);
  assert.deepEqual(names, ["line", "length", "1", "2", "3", "1-2", "2-1", "1-3", "3-1", "2-3", "3-2"]);
});

test("a length falls into one bucket", () => {
  const buckets = [
    { low: 1, high: 5 },
    { low: 6, high: 10 },
    { low: 11, high: null },
  ];
  assert.deepEqual(
    [0, 1, 5, 6, 10, 11, 99].map((length) => bucketOf(length, buckets)),
    [0, 0, 0, 1, 1, 2, 2],
  );
});
