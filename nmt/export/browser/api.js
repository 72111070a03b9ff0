// @ts-check
/** The page's questions, answered without a server: by a worker that runs the model in this browser. It stands in the
 * place of the page's own ask.js. */

/** Whether there is a server to ask. */
export const served = false;

/** Whether any sentence can be asked. */
export const live = true;

/** Whether there is an answer to a question. */
export const isHeld = () => true;

/** The sentence that this page was made for: there is none. @type {string | undefined} */
export const ownSentence = undefined;

/** What the model refuses, in its own words. */
export class Refused extends Error {}

/** @type {Map<number, {resolve: (answer: any) => void, reject: (error: Error) => void}>} */
const waiting = new Map();
let count = 0;
/** @type {Refused | undefined} */
let failed; // what the worker died of
let hasEnded = false; // the loading, well or not
/** @type {Promise<unknown>} */
let last = Promise.resolve();
showProgress({});
const worker = cached().then(begun);

/** One question is computed at a time; one that nobody waits for any more is left out.
 * @param {string} path @param {object} [question] @param {AbortSignal} [signal] @returns {Promise<any>} */
export async function ask(path, question, signal) {
  if (path === "/api/models") return answer(path, question);
  const before = last;
  /** @type {() => void} */
  let done = () => {};
  last = new Promise((resolve) => (done = () => resolve(null)));
  try {
    await before;
    signal?.throwIfAborted();
    const found = await answer(path, question);
    signal?.throwIfAborted();
    return found;
  } finally {
    done();
  }
}

/** @param {string} path @param {object} [question] @returns {Promise<any>} */
async function answer(path, question) {
  const running = await worker;
  if (failed) throw failed;
  return new Promise((resolve, reject) => {
    waiting.set(++count, { resolve, reject });
    running.postMessage({ id: count, path, question });
  });
}

function begun() {
  const running = new Worker(new URL("../engine/worker.js", import.meta.url), { type: "module" });
  running.addEventListener("message", ({ data }) => {
    if (data.id === undefined) return showProgress(data);
    const { resolve, reject } = /** @type {any} */ (waiting.get(data.id));
    waiting.delete(data.id);
    if (data.error === undefined) resolve(data.answer);
    else reject(new Refused(data.error));
  });
  running.addEventListener("error", () => {
    failed = new Refused("The model cannot be loaded: this browser is too old, or the network is gone.");
    showProgress({ ended: true });
    for (const { reject } of waiting.values()) reject(failed);
    waiting.clear();
  });
  return running;
}

/** @param {{done?: number, total?: number, ended?: boolean}} progress in bytes */
function showProgress({ done = 0, total = 0, ended = false }) {
  hasEnded ||= ended;
  if (hasEnded) return document.getElementById("loading")?.remove(); // other files may still be on their way
  const place = document.getElementById("loading") ?? madePlace();
  const [name, bar] = /** @type {[HTMLElement, HTMLProgressElement]} */ (/** @type {unknown} */ (place.children));
  const megabytes = (/** @type {number} */ bytes) => (bytes / 1e6).toFixed(0);
  if (!total) name.textContent = "Loading the model …";
  else if (done < total) name.textContent = `Loading the model, once: ${megabytes(done)} of ${megabytes(total)} MB`;
  else name.textContent = "Starting the model …";
  if (total) [bar.max, bar.value] = [total, done];
}

function madePlace() {
  const place = document.createElement("label");
  place.id = "loading";
  place.append(document.createElement("span"), document.createElement("progress"));
  document.getElementById("status")?.before(place);
  return place;
}

/** From now on a service worker keeps all files, so that the page works without a network, if the browser lets it. */
async function cached() {
  try {
    const { serviceWorker } = navigator;
    await serviceWorker.register(new URL("../offline.js", import.meta.url));
    const controlled = new Promise((resolve) => serviceWorker.addEventListener("controllerchange", resolve));
    const patience = new Promise((resolve) => setTimeout(resolve, 3000));
    if (!serviceWorker.controller) await Promise.race([controlled, patience]);
  } catch {
    // the page works with a network alone
  }
}
