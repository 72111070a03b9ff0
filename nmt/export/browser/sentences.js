// @ts-check
/** The sentences of a text, by the browser's own rules: nmt/text/sentences.py does the same by spaCy's. */

/** Behind these a full stop ends no sentence. */
const ABBREVIATION =
  /(?:^|[^\p{L}])(?:\p{N}+|\p{L}|Dr|Prof|Nr|Str|Hr|Fr|St|Mr|Mrs|Ms|ca|bzw|usw|evtl|inkl|No|vs|etc)\.\s*$/u;

/** None, if the text has only one. @param {string} text @param {string} language */
export function sentencesOf(text, language) {
  if (!Intl.Segmenter) return []; // an old browser
  const isLower = text === text.toLowerCase();
  /** @type {string[]} */
  const sentences = [];
  for (const { segment } of new Intl.Segmenter(language, {
    granularity: "sentence",
  }).segment(text.trim())) {
    const before = sentences.at(-1) ?? "";
    const beginsSmall = /^\p{Ll}/u.test(segment) && !isLower;
    const isAside = !hasLetter(segment) && !/^\p{N}+\.\s*$/u.test(segment); // a number may begin the next sentence
    const belongs = beginsSmall || isAside || !hasLetter(before) || ABBREVIATION.test(before);
    if (before && belongs && !before.includes("\n")) sentences.push(sentences.pop() + segment);
    else sentences.push(segment);
  }
  return sentences.length < 2 ? [] : sentences.map((sentence) => sentence.trim());
}

/** @param {string} text */
const hasLetter = (text) => /\p{L}/u.test(text);
