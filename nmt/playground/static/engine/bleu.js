// @ts-check
/** BLEU of tokens (Papineni et al. 2002), with the exponential smoothing that sacreBLEU has by default. */

const ORDER = 4;

/** @param {string[]} tokens @param {number} n */
function counted(tokens, n) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (let i = 0; i + n <= tokens.length; i++) {
    const ngram = tokens.slice(i, i + n).join(" ");
    counts.set(ngram, (counts.get(ngram) ?? 0) + 1);
  }
  return counts;
}

/** From 0 to 100, of a corpus. @param {string[][]} hypotheses @param {string[][]} references */
export function bleu(hypotheses, references) {
  const length = (/** @type {string[][]} */ texts) => texts.reduce((sum, tokens) => sum + tokens.length, 0);
  const [written, wanted] = [length(hypotheses), length(references)];
  let [logarithms, smoothing] = [0, 1];
  for (let n = 1; n <= ORDER; n++) {
    let [right, all] = [0, 0];
    hypotheses.forEach((tokens, i) => {
      const inReference = counted(references[i], n);
      for (const [ngram, count] of counted(tokens, n)) {
        right += Math.min(count, inReference.get(ngram) ?? 0);
        all += count;
      }
    });
    if (!all || (n === 1 && !right)) return 0;
    if (!right) smoothing *= 2;
    logarithms += Math.log((right || 1 / smoothing) / all) / ORDER;
  }
  return 100 * Math.min(1, Math.exp(1 - wanted / written)) * Math.exp(logarithms);
}
