// @ts-check
/** What the page knows of languages, by their codes. */

/** The first ones have another order of words than their translations.
 * @type {Record<string, string[]>} */
const EXAMPLES = {
  cs: ["Pes běží po trávě."],
  de: [
    "Im Park spielt ein Mann in einem blauen Hemd Gitarre.",
    "Menschen, die vor einem großen Gebäude im Kreis sitzen.",
    "Auf der Straße fährt ein Mann mit einem roten Fahrrad.",
    "Ein Hund läuft über die Wiese.",
  ],
  en: [
    "In the park a man in a blue shirt is playing the guitar.",
    "On the beach two children are playing with a ball.",
    "People sitting in a circle outside a large building.",
    "A dog runs through the grass.",
  ],
  fr: ["Un chien court dans l'herbe."],
};

/** Sentences to choose from. A page begins with the first. @param {string} [code] */
export const examplesIn = (code = "") => (Object.hasOwn(EXAMPLES, code) ? EXAMPLES[code] : []);

/** In English, or the code itself. @param {string} code */
export const languageName = (code) =>
  isKnown(code) ? (new Intl.DisplayNames("en", { type: "language" }).of(code) ?? code) : code;

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
