/** How soon the playground's models are right: `node benchmarks/playground.mjs TASK [MODEL]`, such as `dates luong.dot.global`.
 * `node benchmarks/playground.mjs products`: how fast it multiplies matrices. */

import { dataOf } from "../nmt/playground/static/engine/data.js";
import { makeModel } from "../nmt/playground/static/engine/model.js";
import { EOS } from "../nmt/playground/static/engine/tasks.js";
import { makeSpace } from "../nmt/playground/static/engine/space.js";
import { fromHash, mechanismOf } from "../nmt/playground/static/settings.js";

const [task = "reverse", kind = "bahdanau.additive.global"] = process.argv.slice(2);
const WANTED = task === "reverse" ? 99 : 95; // percent
const chosen = fromHash(`#task=${task}&model=${kind}`);
const seconds = () => (process.cpuUsage().user + process.cpuUsage().system) / 1e6;

/** Multiplications and additions a second of a GRU's product: 32 rows, 64 numbers in, 192 out. @param {boolean} plain */
function products(plain) {
  const { times, zeros } = makeSpace(1 << 20, plain);
  const [x, w, y] = [zeros(32 * 64), zeros(64 * 192), zeros(32 * 192)];
  const repeat = (/** @type {number} */ count) => {
    for (let i = 0; i < count; i++) times(y, x, w, 32, 64, 192);
  };
  repeat(500);
  const start = seconds();
  repeat(2000);
  return (2000 * 32 * 64 * 192) / (seconds() - start);
}

if (task === "products")
  for (const plain of [true, false]) console.log(`${plain ? "loops" : "vectors"}: ${products(plain).toExponential(1)}`);
else for (const seed of [1, 2, 3]) train(seed);

/** @param {number} seed */
function train(seed) {
  const start = seconds();
  const data = dataOf(task, seed);
  const sizes = { sourceTypes: data.source.tokens.length, targetTypes: data.target.tokens.length };
  const model = makeModel({ ...mechanismOf(chosen, chosen.models[0]), ...sizes }, seed);
  const held = data.encoded(data.held);
  for (let update = 1; update <= 2000; update++) {
    model.loss(data.batch(update - 1));
    model.update(chosen.rate, 1);
    if (update === 1) console.log(`seed ${seed}: first update after ${seconds() - start} s of the CPU`);
    if (update % 50) continue;
    const right = model.write(held, data.most).filter(({ tokens }, i) => {
      const wanted = [...data.target.encode(data.held[i].target), EOS];
      return tokens.join() === wanted.join();
    }).length;
    if (right < WANTED && update < 2000) continue;
    console.log(`seed ${seed}: ${right} % after ${update} updates, ${(seconds() - start).toFixed(1)} s of the CPU`);
    break;
  }
}
