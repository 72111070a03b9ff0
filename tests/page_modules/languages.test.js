import assert from "node:assert/strict";
import { test } from "node:test";

import { examplesIn, isKnown } from "../../nmt/page/static/languages.js";

test("only codes that browsers know are said to them", () => {
  assert.deepEqual(["de", "en", "gsw", "xx", "toy", "a", "", "de-AT", "Deutsch"].map(isKnown), [
    true,
    true,
    true,
    false,
    false,
    false,
    false,
    false,
    false,
  ]);
});

test("a language without examples has none", () => {
  assert.match(examplesIn("de")[0], /Mann/);
  assert.deepEqual(["xx", "constructor", undefined].map(examplesIn), [[], [], []]);
});
