// @ts-check
/** Questions to the API. */

import { answerFrom, storedAnswers } from "./stored.js";

const stored = storedAnswers();

/** Whether there is a server to ask. */
export const served = stored === null;

/** Whether any sentence can be asked. */
export const live = served;

/** Whether there is an answer to a question, as far as this page knows. @param {string} path @param {object} question */
export const isHeld = (path, question) => stored === null || answerFrom(stored, path, question) !== undefined;

/** The sentence that this page was made for, if it was made for one. @type {string | undefined} */
export const ownSentence = stored?.find((one) => one.question)?.question.text;

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
  const answer = await patiently(path, options);
  const found = await answer.json().catch(() => ({})); // what stands before the server may answer with a page
  if (!answer.ok) throw new Refused(found.error ?? `The server says ${answer.status}.`);
  return found;
}

/** The server's answer, once it is not too busy for one; the page is told of that. @param {string} path @param {RequestInit} options */
async function patiently(path, options) {
  const tell = (/** @type {string} */ detail) => dispatchEvent(new CustomEvent("busy", { detail }));
  let answer = await fetched(path, options);
  if (answer.status !== 503) return answer;
  tell("The server is busy. This page asks again until there is an answer.");
  try {
    while (answer.status === 503) {
      const seconds = Number(answer.headers.get("retry-after")) || 1;
      await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
      answer = await fetched(path, options);
    }
    return answer;
  } finally {
    tell("");
  }
}

/** @param {string} path @param {RequestInit} options */
async function fetched(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (/** @type {Error} */ (error).name === "AbortError") throw error;
    const lost = new Refused("The server does not answer. Is nmt serve still running?");
    throw Object.assign(lost, { isLost: true });
  }
}
