// @ts-check
/** What is wrong in what a model writes, beside its reference: the fewest tokens that would have to change. */

/** @typedef {{token: string, is: "right" | "wrong" | "missing"}} Marked a written token, or one of the reference that is missing */

/** The tokens of a text, and those that it lacks (by the edit distance of Levenshtein 1966).
 * @param {string[]} written @param {string[]} reference @returns {Marked[]} */
export function marked(written, reference) {
  const [n, m] = [written.length, reference.length];
  const differ = (/** @type {number} */ i, /** @type {number} */ j) => Number(written[i] !== reference[j]);
  // The least number of changes that make the reference from j on of what is written from i on.
  const changes = Array.from({ length: n + 1 }, (_, i) => Array.from({ length: m + 1 }, (_, j) => n - i + m - j));
  for (let i = n - 1; i >= 0; i--)
    for (let j = m - 1; j >= 0; j--)
      changes[i][j] = Math.min(changes[i + 1][j + 1] + differ(i, j), changes[i + 1][j] + 1, changes[i][j + 1] + 1);
  /** @type {Marked[]} */
  const tokens = [];
  for (let [i, j] = [0, 0]; i < n || j < m;) {
    if (i < n && j < m && changes[i][j] === changes[i + 1][j + 1] + differ(i, j))
      tokens.push({ token: written[i], is: differ(i++, j++) ? "wrong" : "right" });
    else if (i < n && changes[i][j] === changes[i + 1][j] + 1) tokens.push({ token: written[i++], is: "wrong" });
    else tokens.push({ token: reference[j++], is: "missing" });
  }
  return tokens;
}

export const RIGHT = "as the reference";

/** The same in words. @param {Marked[]} tokens @param {string} unit such as "letter" */
export function inWords(tokens, unit) {
  const counted = /** @type {const} */ (["wrong", "missing"]).map((kind) => {
    const count = tokens.filter(({ is }) => is === kind).length;
    return count ? `${count} ${unit}${count > 1 ? "s" : ""} ${kind}` : "";
  });
  return counted.filter(Boolean).join(", ") || RIGHT;
}
