// @ts-check
/** The order of a test set's sentences. */

/** The orders that there are: how each is called in an address, and by people. @param {any[]} models @returns {[string, string][]} */
export function orders(models) {
  const pairs = models.flatMap((one, i) => models.slice(i + 1).map((other) => [one, other]));
  return [
    ["line", "as in the file"],
    ["length", "longest first"],
    ...models.map((one) => /** @type {[string, string]} */ ([one.id, `worst of ${one.name} first`])),
    ...pairs.flatMap(
      ([one, other]) =>
        /** @type {[string, string][]} */ ([
          [`${one.id}-${other.id}`, `where ${one.name} is better than ${other.name}`],
          [`${other.id}-${one.id}`, `where ${other.name} is better than ${one.name}`],
        ]),
    ),
  ];
}

/** The numbers of a table's lines, in an order; those of equal rank as in the file. @param {any} table @param {string} metric @param {string} order @returns {number[]} */
export function ordered(table, metric, order) {
  const lines = [...table.source.keys()];
  const [one, other] = order.split("-").map((id) => table.models.find((/** @type {any} */ m) => m.id === id)?.[metric]);
  if (order === "length") return lines.sort((a, b) => table.lengths[b] - table.lengths[a]);
  const sign = metric === "missing" || metric === "added" ? -1 : 1; // the fewer words, the better
  if (one && other) return lines.sort((a, b) => sign * (one[b] - other[b] - (one[a] - other[a])));
  if (one && !order.includes("-")) return lines.sort((a, b) => sign * (one[a] - one[b]));
  return lines;
}

/** The place of the bucket that a length falls into. @param {number} length @param {{low: number, high: number | null}[]} buckets */
export function bucketOf(length, buckets) {
  return buckets.findIndex(({ high }) => high === null || length <= high);
}
