// @ts-check
/** Weights as a heat map: source words along the top, target words down the side. */

const d3 = /** @type {any} */ (globalThis).d3;

/** Cells are as large as `most` pixels, or smaller where there is no room for that. Returns their size and where the first is. Gold links, pairs of a column and a row, are outlined: sure ones by a line, possible ones by a dashed one.
 * @param {HTMLElement} place @param {any} what */
export function heatMap(place, { source, target, matrix, point = null, most = 32, sure = [], possible = [] }) {
  const left = 24 + 8 * d3.max(target, (/** @type {any} */ unit) => Math.min(16, unit.label.length));
  const top = 14 + 6.2 * d3.max(source, (/** @type {any} */ unit) => Math.min(16, unit.label.length));
  const room = place.clientWidth ? (place.clientWidth - left - 60) / source.length : most;
  const cell = Math.max(20, Math.min(most, Math.floor(room)));
  const width = left + cell * source.length + 60;
  const height = top + cell * target.length + 8;
  const svg = d3
    .create("svg")
    .attr("class", "heat")
    .attr("viewBox", `0 0 ${width} ${height}`)
    .attr("width", width)
    .attr("role", "img")
    .attr(
      "aria-label",
      `Heat map. ${target.map((/** @type {any} */ unit, /** @type {number} */ t) => `${unit.label}: ${best(matrix[t], source)}`).join("; ")}`,
    );
  const cut = (/** @type {string} */ label) => (label.length > 16 ? `${label.slice(0, 15)}…` : label);
  svg
    .append("g")
    .selectAll("text")
    .data(source)
    .join("text")
    .attr("class", "small")
    .attr(
      "transform",
      (/** @type {any} */ _, /** @type {number} */ s) =>
        `translate(${left + (s + 0.5) * cell + 3},${top - 8}) rotate(-45)`,
    )
    .text((/** @type {any} */ unit) => cut(unit.label));
  svg
    .append("g")
    .selectAll("text")
    .data(target)
    .join("text")
    .attr("class", "small")
    .attr("text-anchor", "end")
    .attr("x", left - 8)
    .attr("y", (/** @type {any} */ _, /** @type {number} */ t) => top + (t + 0.5) * cell + 4)
    .text((/** @type {any} */ unit) => cut(unit.label));
  const cells = matrix.flatMap((/** @type {number[]} */ line, /** @type {number} */ row) =>
    line.map((weight, column) => ({ row, column, weight })),
  );
  const squares = svg
    .append("g")
    .selectAll("g")
    .data(cells)
    .join("g")
    .attr(
      "transform",
      (/** @type {any} */ { row, column }) => `translate(${left + column * cell},${top + row * cell})`,
    );
  squares.append("rect").attr("class", "grid").attr("width", cell).attr("height", cell);
  squares
    .append("rect")
    .attr("class", "cell")
    .attr("x", 1)
    .attr("y", 1)
    .attr("width", cell - 2)
    .attr("height", cell - 2)
    .attr("rx", 3)
    .attr("fill-opacity", (/** @type {any} */ d) => Math.pow(d.weight, 0.75));
  squares
    .append("title")
    .text((/** @type {any} */ d) => `${target[d.row].label} ← ${source[d.column].label}: ${d.weight.toFixed(3)}`);
  const isSure = new Set(sure.map(String));
  for (const [kind, links] of [
    ["sure", sure],
    ["possible", possible.filter((/** @type {number[]} */ link) => !isSure.has(String(link)))],
  ])
    svg
      .append("g")
      .attr("aria-hidden", "true")
      .selectAll("rect")
      .data(links)
      .join("rect")
      .attr("class", `gold ${kind}`)
      .attr("x", (/** @type {number[]} */ [column]) => left + column * cell + 1)
      .attr("y", (/** @type {number[]} */ [, row]) => top + row * cell + 1)
      .attr("width", cell - 2)
      .attr("height", cell - 2)
      .attr("rx", 3);
  if (point)
    squares
      .on("pointerenter", (/** @type {any} */ _, /** @type {any} */ d) => point(d.row, d.column))
      .on("pointerleave", () => point(null, null));
  place.replaceChildren(svg.node());
  return { left, top, cell };
}

/** The most-read words, in words. @param {number[]} weights @param {any[]} units */
export function best(weights, units) {
  const order = [...weights.keys()]
    .sort((a, b) => weights[b] - weights[a])
    .slice(0, 2)
    .filter((i) => weights[i] >= 0.05);
  return order.map((i) => `${units[i].label} ${weights[i].toFixed(2)}`).join(" and ") || "no word in particular";
}
