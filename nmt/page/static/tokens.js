// @ts-check
/** Tokens as they are shown: one by one, or joined to words, whose attention is a sum over source pieces and a mean
 * over target pieces. */

/** @typedef {{token: string, label: string, kind: string, word: number}} Token */
/** @typedef {{label: string, kind: string, tokens: number[]}} Unit what is shown: the positions of its tokens */

/** @param {Token[]} tokens @param {boolean} joined @returns {Unit[]} */
export function unitsOf(tokens, joined) {
  if (!joined) return tokens.map(({ label, kind }, i) => ({ label, kind, tokens: [i] }));
  /** @type {Unit[]} */
  const units = [];
  tokens.forEach(({ token, label, kind, word }, i) => {
    const last = units[units.length - 1];
    if (last && tokens[last.tokens[0]].word === word) {
      last.tokens.push(i);
      if (kind === "word") last.kind = kind; // a space before a word is part of it
      last.label = cased(last.tokens.map((n) => tokens[n]));
    } else
      units.push({
        label: kind === "word" ? bare({ token, label, kind, word }) : label,
        kind,
        tokens: [i],
      });
  });
  return units;
}

/** A word's pieces as a text. @param {Token[]} pieces */
function cased(pieces) {
  const texts = withCase(pieces.map(({ token }) => token));
  const shown = pieces.map((piece, i) =>
    isMark(piece.token) || piece.token === "￭" || piece.kind === "space" ? "" : bare({ ...piece, token: texts[i] }),
  );
  return shown.join("") || pieces.map(({ label }) => label).join("");
}

/** The text of each token, with the capitals that marks of case before it demand; that of a mark is empty.
 * @param {string[]} tokens */
export function withCase(tokens) {
  const capital = (/** @type {string} */ letter) => (letter.toUpperCase().length === 1 ? letter.toUpperCase() : letter);
  let mark = "";
  return tokens.map((token, i) => {
    if (isSpecial(token)) return token;
    if (isMark(token)) {
      mark = token[0];
      return "";
    }
    if (token.startsWith("▁") && !isMark(tokens[i - 1])) mark = "";
    if (mark === "⇪") return token.replace(/\p{L}/gu, capital);
    if (mark !== "⇧" || !/\p{L}/u.test(token)) return token;
    mark = "";
    return token.replace(/\p{L}/u, capital);
  });
}

/** @type {Record<string, string>} */
const MARKS = { "⇧": "(Capital)", "⇪": "(CAPITALS)", "⇩": "(small)" };

/** Whether a token says that capital or small letters follow. @param {string | undefined} token */
export function isMark(token) {
  return token !== undefined && /^[⇧⇪⇩]▁$/.test(token);
}

/** Whether a token stands right behind the one before it, without a space. A mark of case stands before its word.
 * @param {string[]} tokens @param {number} place */
export function adjoins(tokens, place) {
  if (!place || isSpecial(tokens[place]) || !arePieces(tokens)) return false;
  if (isMark(tokens[place - 1])) return true;
  const text = isMark(tokens[place]) ? (tokens[place + 1] ?? "▁") : tokens[place];
  return !text.startsWith("▁");
}

/** Whether tokens are parts of words. @param {string[]} tokens */
function arePieces(tokens) {
  return tokens.some((token) => token.startsWith("▁"));
}

/** @param {string} token */
function isSpecial(token) {
  return /^<.+>$/.test(token);
}

/** @param {Token} token */
function bare({ token, label, kind }) {
  return kind === "word" ? plain(token) || label : label;
}

/** A token without its signs for spaces, and without what turns the direction of text. @param {string} token */
function plain(token) {
  return token.replace(/[▁\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, "");
}

/** The token of a unit that stands for it: its first one that is no mark. @param {Unit} unit @param {Token[]} tokens */
export function mainOf(unit, tokens) {
  return unit.tokens.find((t) => !isMark(tokens[t].token) && tokens[t].kind !== "space") ?? unit.tokens[0];
}

/** What each unit gets of values of tokens: their sum. @param {number[]} values @param {Unit[]} units */
export function sumsOf(values, units) {
  return units.map(({ tokens }) => tokens.reduce((sum, s) => sum + (values[s] ?? 0), 0));
}

/** A token as a reader of whole words knows it: its case as a mark before it demands, a piece inside a word with a hyphen.
 * @param {string[]} before the tokens before it @param {string} token @param {boolean} joined */
export function named(before, token, joined) {
  if (!joined || isSpecial(token)) return readable(token);
  if (isMark(token)) return MARKS[token[0]];
  const text = readable(/** @type {string} */ (withCase([...before, token]).at(-1)));
  return adjoins([...before, token], before.length) && !isMark(before.at(-1)) && /^[\p{L}\p{N}]/u.test(text)
    ? `-${text}`
    : text;
}

/** @param {number[][]} weights @param {Unit[]} source @param {Unit[]} target */
export function weightsOf(weights, source, target) {
  return target.map(({ tokens }) =>
    source.map((unit) => {
      const sums = tokens.map((t) => unit.tokens.reduce((sum, s) => sum + (weights[t]?.[s] ?? 0), 0));
      return sums.reduce((a, b) => a + b, 0) / tokens.length;
    }),
  );
}

/** The sentences of a source, each as one unit, whose weight is then the first of two levels of attention.
 * @param {Token[]} tokens @param {number[]} segments the number of each token's sentence @returns {Unit[]} */
export function sentencesOf(tokens, segments) {
  /** @type {Unit[]} */
  const units = [];
  segments.forEach((number, i) => {
    units[number] ??= { label: "", kind: "word", tokens: [] };
    units[number].tokens.push(i);
  });
  for (const unit of units) unit.label = `${spelt(unit.tokens.slice(0, 2).map((i) => tokens[i].token))} …`;
  return units;
}

/** The second level: weights within each sentence, which add up to 1 there. @param {number[][]} weights @param {number[]} segments */
export function withinSentences(weights, segments) {
  return weights.map((row) => {
    /** @type {number[]} */
    const sums = [];
    row.forEach((weight, i) => (sums[segments[i]] = (sums[segments[i]] ?? 0) + weight));
    return row.map((weight, i) => (sums[segments[i]] > 0 ? weight / sums[segments[i]] : 0));
  });
}

/** A subword as it is read: its sign for a space hidden. @param {string} token */
export function readable(token) {
  if (token === "<eos>") return "(end)";
  if (token === "<unk>") return "(unknown)";
  return plain(token) || "␣";
}

/** Tokens as a text: pieces joined to words. @param {string[]} tokens */
export function spelt(tokens) {
  return withCase(tokens)
    .map((text, i) => (adjoins(tokens, i) ? "" : " ") + (isSpecial(text) ? readable(text) : plain(text)))
    .join("")
    .trim();
}

/** The words of `mine` that are not in the longest common subsequence with `other`. @param {string[]} mine @param {string[]} other */
export function differing(mine, other) {
  const length = mine.map(() => new Array(other.length + 1).fill(0)).concat([new Array(other.length + 1).fill(0)]);
  for (let i = mine.length - 1; i >= 0; i--)
    for (let j = other.length - 1; j >= 0; j--)
      length[i][j] = mine[i] === other[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
  const different = new Set(mine.keys());
  for (let i = 0, j = 0; i < mine.length && j < other.length;) {
    if (mine[i] === other[j]) (different.delete(i), i++, j++);
    else if (length[i + 1][j] >= length[i][j + 1]) i++;
    else j++;
  }
  return different;
}
