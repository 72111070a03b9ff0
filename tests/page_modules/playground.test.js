import assert from "node:assert/strict";
import { test } from "node:test";

import { MOST, packed, unpacked } from "../../nmt/playground/static/address.js";
import { BATCH, byLength, dataOf } from "../../nmt/playground/static/engine/data.js";
import { makeModel } from "../../nmt/playground/static/engine/model.js";
import { generatorOf, normal } from "../../nmt/playground/static/engine/random.js";
import { EOS, pairsOf, TASKS, UNK } from "../../nmt/playground/static/engine/tasks.js";
import { EXPERIMENTS } from "../../nmt/playground/static/experiments.js";
import { makeCurve, remember } from "../../nmt/playground/static/history.js";
import { inWords, marked } from "../../nmt/playground/static/compare.js";
import { fromHash, mechanismOf, nameOf, toHash, unknown } from "../../nmt/playground/static/settings.js";

test("an address has all settings, and what it does not know is left out", () => {
  const hash =
    "#task=dates&hidden=32&encoder=64&rate=0.01&forcing=0.5&seed=3&model=luong.dot.local_p.2&model=luong_no_feeding.general.global.lstm";
  assert.equal(toHash(fromHash(hash)), hash);
  const first = fromHash("");
  assert.deepEqual(fromHash("#task=x&hidden=7&rate=fast&model=a.b.c&seed="), first);
  assert.equal(fromHash("#model=none&model=none&model=none").models.length, 2);
  assert.equal(nameOf(fromHash("#model=none").models[0]), "no attention");
  assert.equal(nameOf(fromHash("#model=mingru.luong.local_m.dot.2").models[0]), "Luong, dot, local-m, D = 2, minGRU");
  const { wiring, feeding, encoder } = mechanismOf(fromHash(hash), fromHash(hash).models[1]);
  assert.deepEqual([wiring, feeding, encoder], ["luong", false, 64]);
});

test("an address has pairs of one's own, unless they are too long for it", async () => {
  const text = Array.from({ length: 60 }, (_, i) => `Zug ${i} fährt.\ttrain ${i} leaves.\n`).join("");
  const pairs = await packed(text);
  assert.ok(pairs.length < text.length / 3);
  const hash = toHash({ ...fromHash("#task=pairs"), pairs });
  assert.equal(await unpacked(fromHash(hash).pairs), text);
  await assert.rejects(unpacked(pairs.slice(5)));
  assert.ok(
    !toHash({
      ...fromHash("#task=pairs"),
      pairs: "x".repeat(MOST + 1),
    }).includes("pairs=x"),
  );
});

test("the experiments set what they say", () => {
  for (const { hash } of EXPERIMENTS) {
    const written = new URLSearchParams(toHash(fromHash(hash)).slice(1));
    for (const [name, value] of new URLSearchParams(hash)) assert.ok(written.getAll(name).includes(value), hash);
  }
});

test("an address says which of its settings are unknown", () => {
  for (const { hash } of EXPERIMENTS) assert.deepEqual(unknown(`#${hash}`), []);
  assert.deepEqual(unknown(toHash(fromHash(""))), []);
  assert.deepEqual(unknown("#task=foo&seed=-1&model=none&model=xyz.abc&colour=2&rate=0.03"), [
    "task",
    "seed",
    "model",
    "colour",
  ]);
});

test("a date is written out, a word reversed", () => {
  const random = generatorOf(1);
  for (let i = 0; i < 300; i++) {
    const { source, target } = TASKS.dates.draw(random);
    const [year, month, day] = target.join("").split("-").map(Number);
    const found = new Date(Date.UTC(year, month - 1, day));
    assert.deepEqual([found.getUTCMonth() + 1, found.getUTCDate()], [month, day]);
    assert.ok(source.join("").includes(String(year)) && source.join("").includes(String(day)));
    const word = TASKS.reverse.draw(random);
    assert.equal(word.target.join(""), word.source.toReversed().join(""));
  }
});

test("batches are the same for a seed, and have no pair that is held out", () => {
  for (const task of Object.keys(TASKS)) {
    const [data, again, other] = [dataOf(task, 1), dataOf(task, 1), dataOf(task, 2)];
    assert.deepEqual(data.batch(3), again.batch(3));
    assert.notDeepEqual(data.batch(3), data.batch(4));
    assert.notDeepEqual(data.batch(3), other.batch(3));
    assert.deepEqual(data.held, other.held);
    const held = new Set(data.held.map(({ source }) => String(data.source.encode(source))));
    assert.equal(held.size, 100);
    for (let update = 0; update < 50; update++) {
      const { rows, source, sourceLengths } = data.batch(update);
      assert.equal(rows, BATCH);
      for (let b = 0; b < rows; b++) {
        const ids = Array.from({ length: sourceLengths[b] - 1 }, (_, s) => source[s * rows + b]);
        assert.ok(!ids.includes(UNK) && !held.has(String(ids)));
      }
    }
  }
});

test("pairs of one's own are split into words, and one in ten is held out", () => {
  const line = (_, i) => `Ein Hund läuft Nr. ${i}.\tA dog runs no. ${i}.`;
  const text = ["", ...Array.from({ length: 40 }, line), line(null, 0)].join("\n");
  const pairs = pairsOf(text);
  assert.equal(pairs.length, 40);
  assert.deepEqual(pairs[7].source, ["Ein", "Hund", "läuft", "Nr", ".", "7", "."]);
  const data = dataOf("pairs", 1, text);
  assert.equal(data.held.length, 4);
  const trained = new Set(data.source.tokens);
  for (const { source } of data.held) assert.ok(!trained.has(source[5]), source[5]);
  assert.deepEqual(data.batch(2), dataOf("pairs", 1, text).batch(2));
  for (const [wrong, message] of [
    ["a\tb\nc", /^Error: Line 2 does not have two/],
    ["a\tb\tc", /^Error: Line 1 does not have two/],
    ["a\tb", /^Error: At least 20 different pairs/],
    [`${"a ".repeat(21)}\tb`, /^Error: Line 1 has more than 20/],
  ])
    assert.throws(() => pairsOf(wrong), message);
});

test("each length is in one range", () => {
  const pairs = [2, 9, 9, 9, 4, 4, 5, 7].map((length) => ({
    source: Array(length).fill("a"),
    target: [],
  }));
  const exact = pairs.map(({ source }) => source.length < 9);
  const ranges = byLength(pairs, exact);
  assert.deepEqual(ranges, [
    { low: 2, high: 4, pairs: 3, right: 3 },
    { low: 5, high: 7, pairs: 2, right: 2 },
    { low: 9, high: 9, pairs: 3, right: 0 },
  ]);
});

test("numbers of N(0, 1) have its mean and variance, and a generator its seed", () => {
  const random = generatorOf(5, 1);
  const values = Array.from({ length: 20000 }, () => normal(random));
  const mean = values.reduce((sum, x) => sum + x) / values.length;
  const variance = values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / values.length;
  assert.ok(Math.abs(mean) < 0.03 && Math.abs(variance - 1) < 0.05, `${mean}, ${variance}`);
  assert.notEqual(generatorOf(5, 1)(), generatorOf(5, 2)());
});

test("a model learns to reverse words that it has not seen", () => {
  const data = dataOf("reverse", 1);
  const sizes = {
    sourceTypes: data.source.tokens.length,
    targetTypes: data.target.tokens.length,
  };
  const settings = fromHash("#task=reverse");
  const model = makeModel({ ...mechanismOf(settings, settings.models[0]), ...sizes }, 1);
  for (let update = 0; update < 250; update++) {
    model.loss(data.batch(update));
    model.update(settings.rate, 1);
  }
  const written = model.write(data.encoded(data.held), data.most);
  const right = written.filter(({ tokens }, i) => {
    const wanted = [...data.target.encode(data.held[i].target), EOS];
    return tokens.length === wanted.length && wanted.every((token, t) => token === tokens[t]);
  });
  assert.ok(right.length >= 90, `${right.length} of 100`);
  const i = data.held.findIndex(({ source }) => source.length >= 7);
  const [weights] = model.read(data.encoded([data.held[i]]));
  const length = data.held[i].source.length;
  const largest = weights.slice(0, length).map((row) => row.indexOf(Math.max(...row)));
  const sharp = weights.slice(0, length).reduce((sum, row) => sum + Math.max(...row), 0) / length;
  assert.ok(sharp > 0.5, `the mean of the largest weights is ${sharp}`);
  assert.ok(largest[0] > largest[length - 1], `read from the end: ${largest}`);
});

test("a history has its newest entry, and hardly grows", () => {
  const entries = [];
  for (let update = 0; update <= 30_000; update++) {
    remember(entries, { update });
    assert.equal(entries.at(-1).update, update);
  }
  assert.ok(entries.length < 300, `${entries.length}`);
  assert.deepEqual(
    entries.slice(0, 30).map(({ update }) => update),
    [...Array(30).keys()],
  );
  entries.slice(1, -1).forEach(({ update }, i) => assert.ok(update <= Math.max(entries[i].update * 1.03 + 1, 1)));
});

test("a curve has few points, which are means, and ends at its newest value", () => {
  const curve = makeCurve();
  for (let x = 1; x <= 5000; x++) curve.add(x, x);
  const points = curve.points();
  assert.ok(points.length >= 200 && points.length <= 400, `${points.length}`);
  assert.equal(points.at(-1).x, 5000);
  points.forEach(({ x, y }, i) => assert.equal(y, ((points[i - 1]?.x ?? 0) + 1 + x) / 2));
});

test("wrong and missing tokens are marked, as few as possible", () => {
  const shown = (written, reference) =>
    marked([...written], [...reference])
      .map(({ token, is }) => ({ right: token, wrong: `(${token})`, missing: `[${token}]` })[is])
      .join("");
  assert.equal(shown("abc", "abc"), "abc");
  assert.equal(shown("axc", "abc"), "a(x)c");
  assert.equal(shown("abbc", "abc").replace("(b)", ""), "abc");
  assert.equal(shown("ac", "abc"), "a[b]c");
  assert.equal(shown("bcde", "abcd"), "[a]bcd(e)");
  assert.equal(shown("", "ab"), "[a][b]");
  assert.equal(inWords(marked([..."xcde"], [..."abcd"]), "letter"), "2 letters wrong, 1 letter missing");
  assert.equal(inWords(marked(["a", "dog"], ["a", "dog"]), "word"), "as the reference");
});

test("dot needs equal sizes, and says which; general does not", () => {
  const sizes = { sourceTypes: 9, targetTypes: 9 };
  const built = (hash) => makeModel({ ...mechanismOf(fromHash(hash), fromHash(hash).models[0]), ...sizes }, 1);
  const hash = "#hidden=64&encoder=16&model=luong.dot.global";
  assert.throws(() => built(hash), /64 elements, a memory vector 2 · 16 = 32. Set the encoder size to 32, or choose/);
  for (const fit of [hash.replace("=16", "=32"), hash.replace("=16", "=half"), hash.replace("dot", "general")])
    built(fit);
});
