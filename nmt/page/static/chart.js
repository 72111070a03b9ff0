// @ts-check
/** Lines over a common axis. */

/** @typedef {{x: number, y: number, low?: number, high?: number, text?: string, id?: string, open?: () => void}} Point */
/** @typedef {{name: string, colour: number, points: Point[], dashed?: boolean}} Series */

const d3 = /** @type {any} */ (globalThis).d3;
const HEIGHT = 250;
const EDGE = { left: 54, right: 26, top: 30, bottom: 40 };

/** @param {{title: string, x: string, series: Series[], ticks?: (x: number) => string, zero?: boolean}} what */
export function chart({ title, x: below, series, ticks, zero = false }) {
  const all = series.flatMap(({ points }) => points);
  const width = innerWidth < 420 ? 300 : 480; // a phone: letters keep their size
  const svg = d3
    .create("svg")
    .attr("class", "chart")
    .attr("viewBox", `0 0 ${width} ${HEIGHT}`)
    .attr("role", all.some(({ open }) => open) ? "group" : "img")
    .attr("aria-label", `${title}. ${series.map(inWords).join("; ") || "nothing yet"}`);
  svg.append("text").attr("class", "title").attr("x", 8).attr("y", 17).text(title);
  const text = (/** @type {string} */ words, /** @type {number} */ x, /** @type {number} */ y) =>
    svg.append("text").attr("class", "quiet").attr("text-anchor", "middle").attr("x", x).attr("y", y).text(words);
  if (!all.length) return (text("nothing yet", width / 2, HEIGHT / 2), svg.node());
  const values = all.flatMap(({ y, low = y, high = y }) => [low, high]);
  const x = d3
    .scaleLinear()
    .domain(spread(d3.extent(all, (/** @type {Point} */ p) => p.x)))
    .range([EDGE.left, width - EDGE.right]);
  const y = d3
    .scaleLinear()
    .domain(spread(d3.extent(zero ? [0, ...values] : values)))
    .nice()
    .range([HEIGHT - EDGE.bottom, EDGE.top]);
  text(below, (EDGE.left + width - EDGE.right) / 2, HEIGHT - 6);
  const counted = all.every((point) => Number.isInteger(point.x));
  const marks = ticks
    ? [...new Set(all.map((point) => point.x))]
    : x.ticks(5).filter((/** @type {number} */ mark) => !counted || Number.isInteger(mark));
  for (const mark of marks) text((ticks ?? x.tickFormat(5))(mark), x(mark), HEIGHT - EDGE.bottom + 16);
  for (const mark of y.ticks(5)) {
    const line = svg
      .append("line")
      .attr("class", "grid")
      .attr("x1", EDGE.left)
      .attr("x2", width - EDGE.right);
    line.attr("y1", y(mark)).attr("y2", y(mark));
    text(y.tickFormat(5)(mark), EDGE.left - 6, y(mark) + 4).attr("text-anchor", "end");
  }
  series.forEach((one) => curve(svg, one, x, y));
  return svg.node();
}

/** @param {any} svg @param {Series} series @param {any} x @param {any} y */
function curve(svg, { name, colour, points, dashed = false }, x, y) {
  const group = svg.append("g").attr("class", `series-${colour}`);
  const line = d3.line(
    (/** @type {Point} */ p) => x(p.x),
    (/** @type {Point} */ p) => y(p.y),
  );
  group
    .append("path")
    .attr("class", dashed ? "curve dashed" : "curve")
    .attr("d", line(points));
  for (const { x: at, low, high } of points)
    if (low !== undefined && high !== undefined)
      group
        .append("line")
        .attr("class", "curve")
        .attr("x1", x(at))
        .attr("x2", x(at))
        .attr("y1", y(low))
        .attr("y2", y(high));
  const few = points.length <= 80 ? points : points.slice(-1);
  for (const point of few) {
    const says = point.text ?? `${name}: ${shown(point.y)} at ${point.x.toLocaleString("en")}`;
    const dot = group.append("circle").attr("class", "dot").attr("cx", x(point.x)).attr("cy", y(point.y));
    dot
      .attr("r", point.open ? 6 : 2.4)
      .append("title")
      .text(says);
    if (!point.open) continue;
    const { open } = point;
    dot.attr("id", point.id).attr("role", "button").attr("tabindex", 0).attr("aria-label", says).on("click", open);
    dot.on("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Enter" || event.key === " ") (event.preventDefault(), open());
    });
  }
}

/** @param {Series} series */
function inWords({ name, points }) {
  const last = points[points.length - 1];
  const count = points.length === 1 ? "1 point" : `${points.length} points`;
  return last ? `${name}: ${count}, the last ${shown(last.y)}` : `${name}: nothing yet`;
}

/** An axis has two ends, also for a single value. @param {[number, number]} ends */
function spread([low, high]) {
  const more = Math.abs(low) / 2 || 0.5;
  return low < high ? [low, high] : [low - more, high + more];
}

/** @param {number | null | undefined} value */
export function shown(value) {
  if (value === null || value === undefined) return "–";
  return Math.abs(value) >= 1000 ? d3.format(",.0f")(value) : String(Number(value.toPrecision(4)));
}
