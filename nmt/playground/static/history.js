// @ts-check
/** What happened in a training, in a memory that hardly grows: the longer ago, the nearer to each other. */

const SPACING = 1.03; // between the updates of two entries
const POINTS = 400; // of a curve, at most

/** Adds an entry. The newest is always kept, and of the others one per 3 % more updates, or per update.
 * @template {{update: number}} T @param {T[]} entries in order @param {T} entry */
export function remember(entries, entry) {
  const [before, last] = entries.slice(-2);
  if (last && before && last.update < before.update * SPACING) entries.pop();
  entries.push(entry);
}

/** A curve of points, each the mean of as many values. */
export function makeCurve() {
  /** @type {{x: number, y: number}[]} */
  let points = [];
  let [size, count, sum, last] = [1, 0, 0, 0];
  return {
    /** @param {number} x @param {number} y */
    add(x, y) {
      [last, sum, count] = [x, sum + y, count + 1];
      if (count < size) return;
      points.push({ x, y: sum / count });
      [sum, count] = [0, 0];
      if (points.length < POINTS) return;
      points = points.filter((_, i) => i % 2).map(({ x, y }, i) => ({ x, y: (points[2 * i].y + y) / 2 }));
      size *= 2;
    },
    points: () => (count ? [...points, { x: last, y: sum / count }] : points),
  };
}
