// @ts-check
/** One model in a thread of its own. It trains until it has done as many updates as the page has allowed. */

import { bleu } from "./bleu.js";
import { checkpointOf } from "./checkpoint.js";
import { byLength, dataOf } from "./data.js";
import { makeModel } from "./model.js";
import { generatorOf } from "./random.js";
import { EOS } from "./tasks.js";

/** @import { Start } from "./checkpoint.js" */
/** @import { Settings } from "./parameters.js" */
/** @typedef {Omit<Settings, "sourceTypes" | "targetTypes">} Mechanism */
/** @typedef {{kind: "start", task: string, text: string, seed: number, rate: number, forcing: number, mechanism: Mechanism, example: number, languages: [string, string], from: Start | null} | {kind: "until", update: number} | {kind: "example", example: number} | {kind: "save"}} Order `from`: a checkpoint's model, where training begins */
/** @typedef {{update: number, loss: number, norm: number}} Loss of an update's batch, and the norm of its gradient before it is limited */
/** @typedef {{update: number, example: number, weights: Float32Array | null, written: string[]}} Snapshot of the example: the weights (T S) while its reference is read, and the tokens that are written */
/** @typedef {{update: number, pairs: number, exact: number, bleu: number | null, ranges: (ReturnType<typeof byLength>[number] & {bleu: number | null})[]}} Accuracy BLEU of words; null if tokens are characters */
/** @typedef {{losses: Loss[], snapshots: Snapshot[], accuracies: Accuracy[], error?: string, file?: Uint8Array<ArrayBuffer>}} News `file`: a checkpoint */

const CLIP = 1;
const FRAME_MS = 31; // from one snapshot to the next, on average, if updates are not slower
const MEASURED = 50; // updates between two measurements of accuracy

/** @type {ReturnType<typeof begin> | null} */
let training = null;
let allowed = 0;
let waiting = false;
let due = FRAME_MS; // when the next snapshot is
const turn = new MessageChannel(); // a timeout would wait for 4 ms

/** @param {Extract<Order, {kind: "start"}>} order */
function begin({ task, text: pairs, seed, rate, forcing, mechanism, example, languages, from }) {
  const data = dataOf(task, seed, pairs, from);
  const sizes = { sourceTypes: data.source.tokens.length, targetTypes: data.target.tokens.length };
  const model = makeModel({ ...mechanism, ...sizes }, seed);
  if (from)
    for (const [name, values] of Object.entries(from.weights)) model.space.f.set(values, model.parameters.at(name));
  const heldOut = data.encoded(data.held);
  const text = (/** @type {number[]} */ ids) => ids.filter((id) => id !== EOS).map((id) => data.target.tokens[id]);
  let updates = 0;

  /** @returns {Snapshot} */
  function snapshot() {
    const one = data.encoded([data.held[example]]);
    const [{ tokens }] = model.write(one, data.most);
    const [weights = null] = model.read(one) ?? [];
    return { update: updates, example, weights: weights && Float32Array.from(weights.flat()), written: text(tokens) };
  }
  /** @returns {Accuracy} */
  function accuracy() {
    const written = model.write(heldOut, data.most).map(({ tokens }) => text(tokens));
    const exact = data.held.map((pair, i) => written[i].join(" ") === pair.target.join(" "));
    const bleuOf = (/** @type {number} */ low, /** @type {number} */ high) => {
      const of = [...data.held.keys()].filter(
        (i) => low <= data.held[i].source.length && data.held[i].source.length <= high,
      );
      const [hypotheses, references] = [of.map((i) => written[i]), of.map((i) => data.held[i].target)];
      return data.joined ? bleu(hypotheses, references) : null;
    };
    return {
      ...{ update: updates, pairs: exact.length, exact: exact.filter(Boolean).length / exact.length },
      bleu: bleuOf(0, Infinity),
      ranges: byLength(data.held, exact).map((range) => ({ ...range, bleu: bleuOf(range.low, range.high) })),
    };
  }
  return {
    updates: () => updates,
    snapshot,
    accuracy,
    /** @param {number} chosen */
    show: (chosen) => void (example = chosen),
    /** @returns {Loss} */
    update() {
      const random = generatorOf(seed, 3, updates);
      const loss = model.loss(data.batch(updates), forcing < 1 ? () => random() < forcing : undefined);
      const norm = Number.isFinite(loss) ? model.update(rate, CLIP) : NaN;
      updates++;
      return { update: updates, loss, norm };
    },
    file: () => checkpointOf({ task, languages, seed, rate, forcing, updates }, mechanism, data, model),
  };
}

/** @param {Partial<News>} news */
const tell = (news) => postMessage({ losses: [], snapshots: [], accuracies: [], ...news });

function work() {
  waiting = false;
  /** @type {News} */
  const news = { losses: [], snapshots: [], accuracies: [] };
  for (let now = 0; training && training.updates() < allowed && now < due; now = performance.now()) {
    const done = training.update();
    const { update } = done;
    if (!Number.isFinite(done.loss)) {
      allowed = 0;
      news.error = `The loss of update ${update} is not a number: choose a lower learning rate.`;
      break;
    }
    news.losses.push(done);
    if (update % MEASURED === 0) news.accuracies.push(training.accuracy());
  }
  due = Math.max(due, performance.now() - FRAME_MS) + FRAME_MS;
  if (training && news.losses.length && !news.error) news.snapshots.push(training.snapshot());
  tell(news);
  goOn();
}

function goOn() {
  if (waiting || !training || training.updates() >= allowed) return;
  waiting = true;
  turn.port2.postMessage(null); // so that orders are heard
}

turn.port1.addEventListener("message", work);
turn.port1.start();
addEventListener("message", (/** @type {MessageEvent<Order>} */ { data: order }) => {
  try {
    if (order.kind === "start") {
      training = begin(order);
      allowed = 0;
      tell({ snapshots: [training.snapshot()] });
      tell({ accuracies: [training.accuracy()] });
    } else if (order.kind === "until") {
      allowed = order.update;
    } else if (training && order.kind === "save") {
      tell({ file: training.file() });
    } else if (training && order.kind === "example") {
      training.show(order.example);
      tell({ snapshots: [training.snapshot()] });
    }
    goOn();
  } catch (error) {
    tell({ error: String(error instanceof Error ? error.message : error) });
  }
});
