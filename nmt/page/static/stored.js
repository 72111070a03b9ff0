// @ts-check
/** Answers that are in the page itself: one that `nmt explain` has written works without a server. */

/** @typedef {{path: string, question: any, answer: any}} Stored */

/** @returns {Stored[] | null} */
export function storedAnswers() {
  const place = document.getElementById("stored");
  return place && JSON.parse(place.textContent ?? "[]");
}

/** What was stored for a question, if it was. @param {Stored[]} stored @param {string} path @param {any} [question] */
export function answerFrom(stored, path, question) {
  const wanted = JSON.stringify(essence(question));
  return stored.find((one) => one.path === path && JSON.stringify(essence(one.question)) === wanted)?.answer;
}

/** What decides an answer. @param {any} [question] */
function essence(question) {
  const { text = "", prefix = [], forced = [], target = "" } = question ?? {};
  return [text, prefix, forced, target];
}
