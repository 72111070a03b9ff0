// @ts-check
/** Questions to the API. */

import { answerFrom, storedAnswers } from "./stored.js";

const stored = storedAnswers();

/** Whether there is a server to ask. */
export const served = stored === null;

/** Whether any sentence can be asked. */
export const live = served;

/** The sentence that is shown at first. */
export const example = stored?.find((one) => one.question)?.question.text ?? "Ein Hund läuft über die Wiese.";

/** What the server refuses, in its own words. */
export class Refused extends Error {}

/** @param {string} path @param {object} [question] @param {AbortSignal} [signal] @returns {Promise<any>} */
export async function ask(path, question, signal) {
  if (stored !== null) {
    const answer = answerFrom(stored, path, question);
    if (answer === undefined)
      throw new Refused("This file does not hold that. With nmt serve the model answers anything.");
    return answer;
  }
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
