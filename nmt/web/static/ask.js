// @ts-check
/** Questions to the API. */

/** What the server refuses, in its own words. */
export class Refused extends Error {}

/** @param {string} path @param {object} [question] @param {AbortSignal} [signal] @returns {Promise<any>} */
export async function ask(path, question, signal) {
  const options = question
    ? { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(question), signal }
    : { signal };
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (/** @type {Error} */ (error).name === "AbortError") throw error;
    throw new Refused("The server does not answer. Is nmt serve still running?");
  }
  if (answer.status === 503) {
    const seconds = Number(answer.headers.get("retry-after")) || 1;
    await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
    return ask(path, question, signal);
  }
  const found = await answer.json();
  if (!answer.ok) throw new Refused(found.error ?? `The server says ${answer.status}.`);
  return found;
}
