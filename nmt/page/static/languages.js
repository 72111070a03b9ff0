// @ts-check
/** What the page knows of languages, by their codes. */

/** @type {Record<string, string>} */
const EXAMPLES = {
  cs: "Pes běží po trávě.",
  de: "Ein Hund läuft über die Wiese.",
  en: "A dog runs through the grass.",
  fr: "Un chien court dans l'herbe.",
};

/** A sentence to begin with, or none. @param {string} [code] */
export const exampleIn = (code = "") => (Object.hasOwn(EXAMPLES, code) ? EXAMPLES[code] : "");

/** Say what language a text is in, for those who have it read aloud, if the code is one that browsers know.
 * @param {HTMLElement} place @param {string} [code] */
export function inLanguage(place, code = "") {
  if (isKnown(code)) place.lang = code;
  else place.removeAttribute("lang");
}

/** @param {string} code */
export function isKnown(code) {
  const names = new Intl.DisplayNames("en", { type: "language", fallback: "none" });
  return /^[a-z]{2,3}$/.test(code) && names.of(code) !== undefined;
}
