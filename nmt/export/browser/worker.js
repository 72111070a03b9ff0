// @ts-check
/** The worker of the page that translates without a server: it loads the model, and answers what `nmt serve` does. */

import { answering, Refused } from "./explanation.js";
import { translationModel } from "./model.js";
import { tokenizerOf } from "./tokenizer.js";
import { vocabulary } from "./vocabulary.js";

const ROOT = new URL("../", import.meta.url);
const RUNTIME = new URL("runtime/ort.wasm.bundle.min.mjs", ROOT).href;
const OPTIONS = { executionProviders: ["wasm"], extra: { session: { set_denormal_as_zero: "1" } } };

/** @param {any} config */
async function loaded(config) {
  let done = 0;
  const total = Object.values(config.files).reduce((/** @type {number} */ sum, size) => sum + size, 0);
  /** A file's bytes; the page is told of each part that arrives. @param {string} path */
  async function bytes(path) {
    const answer = await fetched(path);
    const all = new Uint8Array(config.files[path]);
    let place = 0;
    for (const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).getReader(); ;) {
      const { done: isEnd, value } = await reader.read();
      if (isEnd) break;
      all.set(value, place);
      place += value.length;
      done += value.length;
      postMessage({ done, total });
    }
    return all;
  }
  const names = Object.keys(config.files);
  const [ort, ...contents] = await Promise.all([import(RUNTIME), ...names.map(bytes)]);
  const files = Object.fromEntries(names.map((name, i) => [name, contents[i]]));
  ort.env.logLevel = "error";
  Object.assign(ort.env.wasm, { numThreads: 1, wasmBinary: files["runtime/ort-wasm-simd-threaded.wasm"] });
  const session = (/** @type {string} */ name) => ort.InferenceSession.create(files[`model/${name}.onnx`], OPTIONS);
  const encoder = await session("encoder");
  const model = translationModel(ort, { encoder, step: await session("step"), trace: await session("trace") });
  const side = (/** @type {string} */ name) => {
    const { tokenizer, lowercase, subwords, normalize } = config[name];
    const types = JSON.parse(new TextDecoder().decode(files[`model/${name}.json`]));
    const model = subwords === null ? null : files[`model/${subwords}`];
    const tokenizing = tokenizerOf(tokenizer, lowercase, model, normalize);
    return { tokenizer: tokenizing, vocabulary: vocabulary(types) };
  };
  return answering(model, side("source"), side("target"), config);
}

/** @param {string} path */
async function fetched(path) {
  const answer = await fetch(new URL(path, ROOT));
  if (!answer.ok) throw new Error(`the server has no ${path} (${answer.status})`);
  return answer;
}

const config = fetched("model/model.json").then((answer) => answer.json());
const answers = config.then(loaded);
const told = () => postMessage({ ended: true });
answers.then(told, told); // of an error whoever asks is told, too

addEventListener("message", async ({ data: { id, path, question } }) => {
  try {
    if (path === "/api/models") return postMessage({ id, answer: [(await config).model] });
    const answer = /** @type {Record<string, (question: any) => Promise<any>>} */ (await answers)[path];
    if (answer === undefined) throw new Refused("This page cannot do that. nmt serve can.");
    postMessage({ id, answer: await answer(question) });
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    postMessage({ id, error: error instanceof Refused ? message : `The model cannot be used here: ${message}` });
  }
});
