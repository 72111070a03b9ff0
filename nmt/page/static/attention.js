// @ts-check
/** View 1: lines between the words, whose width is the weight, and a heat map. */

import { element, note, scrolling } from "./elements.js";
import { best, heatMap } from "./heat.js";
import { isKnown } from "./languages.js";
import { partChoice, partOf, partsOf } from "./parts.js";
import { saveButtons } from "./save.js";
import { mainOf, sentencesOf, unitsOf, weightsOf, withinSentences } from "./tokens.js";

const ROW = 30;
const WHY =
  "First words and full stops often look at the end of the sentence: they depend on all of it, and there the encoder's " +
  "GRU has read all of it. ";
const JOINED =
  "The weight of a whole word is the sum over the pieces of a source word, the mean over those of a target word.";
const d3 = /** @type {any} */ (globalThis).d3;

/** @param {HTMLElement} place @param {any} found @param {import("./state.js").State} state @param {any} actions */
export function showAttention(place, found, state, actions) {
  place.replaceChildren();
  if (!found.steps.length) return note(place, "Type a sentence, and its attention appears here.");
  if (!found.steps[0].weights)
    return note(place, "This model has no attention: it reads the whole sentence as one vector.");
  const parts = partsOf(found);
  const part = partOf(parts, state.part);
  const bar = element("div", "bar");
  if (parts.length > 1) bar.append(partChoice(parts, part, actions));
  bar.append(saveButtons(() => pair, "attention"));
  const pair = element("div", "pair");
  const left = element("div");
  const right = scrolling("Heat map");
  pair.append(left, right);
  place.append(bar, pair, element("p", "hint", WHY + (state.words ? JOINED : "")));
  const head = Number(part) || 0;
  let weights = found.steps.map((/** @type {any} */ step) => (head ? step.heads[head - 1] : step.weights));
  if (part === "within") weights = withinSentences(weights, found.segments);
  const sentences = part === "sentence";
  const source = sentences ? sentencesOf(found.source, found.segments) : unitsOf(found.source, state.words);
  const target = unitsOf(found.target, state.words);
  const matrix = weightsOf(weights, source, target);
  const all = totalsOf(matrix, target, source.length);
  const point = linked(pair, { found, source, target, matrix, all });
  rays(left, {
    found,
    source,
    target,
    matrix,
    all,
    state,
    actions,
    point,
    head,
  });
  heatMap(right, { source, target, matrix, point });
}

/** What is pointed at, in both pictures: its row or its column, with its weights in numbers, and for a row of a model
 * that keeps account of it, what was read before it. @param {HTMLElement} place @param {any} what */
function linked(place, { found, source, target, matrix, all }) {
  return (/** @type {number | null} */ row, /** @type {number | null} */ column) => {
    const one = row !== null || column !== null;
    for (const node of /** @type {NodeListOf<SVGElement>} */ (place.querySelectorAll("[data-row], [data-column]"))) {
      const lit =
        node.dataset.row === undefined ? Number(node.dataset.column) === column : Number(node.dataset.row) === row;
      node.classList.toggle("lit", one && lit);
    }
    const chosen = d3.select(place);
    const own = (/** @type {any} */ d) => d.row === row || d.column === column;
    chosen
      .selectAll(".ray")
      .attr("stroke-opacity", (/** @type {any} */ d) => (one ? (own(d) ? 0.9 : 0.04) : 0.12 + 0.88 * d.weight));
    const text = (/** @type {number} */ weight) => (weight >= 0.005 ? weight.toFixed(2) : "");
    chosen
      .selectAll(".of-source")
      .text((/** @type {any} */ _, /** @type {number} */ s) => (row === null ? "" : text(matrix[row][s])));
    chosen
      .selectAll(".of-target")
      .text((/** @type {any} */ _, /** @type {number} */ t) => (column === null ? "" : text(matrix[t][column])));
    const before = row === null ? null : found.steps[target[row].tokens[0]].coverage;
    const sums = before
      ? source.map((/** @type {any} */ { tokens }) => d3.sum(tokens, (/** @type {number} */ s) => before[s]))
      : all;
    chosen.selectAll(".received").data(sums).attr("width", lengthOf(sums));
    chosen.select(".received-name").text(before ? "attention so far" : "total attention");
    chosen.selectAll(".window, .centre").attr("opacity", (/** @type {any} */ d) => (d.row === row ? 1 : 0));
  };
}

/** How much was read of each source word, by all target tokens. @param {number[][]} matrix @param {any[]} target @param {number} count */
function totalsOf(matrix, target, count) {
  return d3
    .range(count)
    .map((/** @type {number} */ s) =>
      d3.sum(matrix, (/** @type {number[]} */ row, /** @type {number} */ t) => row[s] * target[t].tokens.length),
    );
}

/** The lengths of bars of coverage: the longest is full, or twice the attention of one step. @param {number[]} sums */
function lengthOf(sums) {
  return d3.scaleLinear([0, Math.max(2, ...sums)], [0, 46]);
}

/** @param {HTMLElement} place @param {any} what */
function rays(place, { found, source, target, matrix, all, state, actions, point, head }) {
  const narrow = place.clientWidth > 0 && place.clientWidth < 420; // a phone: letters keep their size
  const width = narrow ? 320 : 500;
  const [from, to] = narrow ? [116, 206] : [196, 332];
  const rows = Math.max(source.length, target.length);
  const height = rows * ROW + 34;
  const offset = (/** @type {number} */ count) => 30 + ((rows - count) * ROW) / 2;
  const ySource = (/** @type {number} */ s) => offset(source.length) + s * ROW + ROW / 2;
  const yTarget = (/** @type {number} */ t) => offset(target.length) + t * ROW + ROW / 2;
  const svg = d3
    .create("svg")
    .attr("class", "rays")
    .attr("viewBox", `0 0 ${width} ${height}`)
    .attr("role", "group")
    .attr("aria-label", "Lines from each word of the translation to the words that the model read for it");
  svg
    .append("text")
    .attr("class", "quiet")
    .attr("x", from - 8)
    .attr("y", 16)
    .attr("text-anchor", "end")
    .text("source");
  if (!narrow) svg.append("text").attr("class", "quiet received-name").attr("x", 4).attr("y", 16);
  svg
    .append("text")
    .attr("class", "quiet")
    .attr("x", to + 8)
    .attr("y", 16)
    .text("translation");
  windows(svg, found, source, target, ySource, from, head);
  if (!narrow)
    svg
      .append("g")
      .attr("aria-hidden", "true")
      .selectAll("rect")
      .data(all)
      .join("rect")
      .attr("class", "received")
      .attr("rx", 2)
      .attr("x", 4)
      .attr("y", (/** @type {any} */ _, /** @type {number} */ s) => ySource(s) - 4)
      .attr("height", 8)
      .attr("width", lengthOf(all));
  const cells = matrix
    .flatMap((/** @type {number[]} */ line, /** @type {number} */ row) =>
      line.map((weight, column) => ({ row, column, weight })),
    )
    .filter((/** @type {any} */ cell) => cell.weight > 0.015);
  const isForced = (/** @type {any} */ cell) =>
    state.forced.some(
      (/** @type {number[]} */ [t, s]) => target[cell.row].tokens.includes(t) && source[cell.column].tokens.includes(s),
    );
  svg
    .append("g")
    .attr("aria-hidden", "true")
    .selectAll("path")
    .data(cells)
    .join("path")
    .attr("class", (/** @type {any} */ cell) => (isForced(cell) ? "ray forced" : "ray"))
    .attr(
      "d",
      (/** @type {any} */ { row, column }) =>
        `M${from},${ySource(column)} C${(from + to) / 2},${ySource(column)} ${(from + to) / 2},${yTarget(row)} ${to},${yTarget(row)}`,
    )
    .attr("stroke-width", (/** @type {any} */ cell) => Math.max(0.4, 11 * cell.weight))
    .attr("stroke-linecap", "butt");
  const wordOf = (/** @type {any} */ unit) => mainOf(unit, found.target);
  const isMissing = (/** @type {any} */ { tokens }) =>
    tokens.some((/** @type {number} */ at) => found.missing?.includes(at));
  const [readFrom, writtenIn] = found.languages;
  const ofSource = {
    x: from - 6,
    anchor: "end",
    y: ySource,
    data: "column",
    room: from - (narrow ? 34 : 90),
  };
  words(svg, source, { ...ofSource, lang: readFrom, role: "img" }) // nothing happens where it is chosen
    .attr(
      "aria-label",
      (/** @type {any} */ unit, /** @type {number} */ s) =>
        `${unit.label}, read for ${best(
          matrix.map((/** @type {number[]} */ row) => row[s]),
          target,
        )}${isMissing(unit) ? "; it may be missing in the translation" : ""}`,
    )
    .classed("missing", isMissing)
    .on("pointerenter focus", (/** @type {any} */ event, /** @type {any} */ unit) => point(null, source.indexOf(unit)))
    .on("pointerleave blur", () => point(null, null));
  /** @type {any} */
  let touched; // a finger cannot point: it points first, and chooses when it comes again
  const ofTarget = {
    x: to + 6,
    anchor: "start",
    y: yTarget,
    data: "row",
    room: width - to - 42,
  };
  words(svg, target, { ...ofTarget, lang: writtenIn, role: "button" })
    .attr(
      "aria-label",
      (/** @type {any} */ unit, /** @type {number} */ t) =>
        `${unit.label}, read from ${best(matrix[t], source)}. Choose to change.`,
    )
    .on("pointerenter focus", (/** @type {any} */ event, /** @type {any} */ unit) => point(target.indexOf(unit), null))
    .on("pointerleave blur", (/** @type {any} */ event) => event.pointerType === "touch" || point(null, null))
    .on("click", (/** @type {any} */ event, /** @type {any} */ unit) => {
      if (event.pointerType !== "touch" || touched === unit) return actions.reconsider(wordOf(unit));
      touched = unit;
      point(target.indexOf(unit), null);
    })
    .on("keydown", (/** @type {KeyboardEvent} */ event, /** @type {any} */ unit) => {
      if (event.key === "Enter" || event.key === " ") (event.preventDefault(), actions.reconsider(wordOf(unit)));
    });
  for (const [kind, units, y, x] of [
    ["source", source, ySource, narrow ? 0 : 54],
    ["target", target, yTarget, width - 2],
  ]) {
    svg
      .append("g")
      .attr("aria-hidden", "true")
      .selectAll("text")
      .data(units)
      .join("text")
      .attr("class", `quiet of-${kind}`)
      .attr("text-anchor", kind === "source" ? "start" : "end")
      .attr("x", x)
      .attr("y", (/** @type {any} */ _, /** @type {number} */ i) => y(i) + 4);
  }
  place.replaceChildren(svg.node());
  fit(svg.node());
  point(null, null);
}

/** Where a local scope looks: all its heads, or the chosen one. @param {any} svg @param {any} found @param {any} source @param {any} target @param {(s: number) => number} ySource @param {number} from @param {number} head from 1; 0: all */
function windows(svg, found, source, target, ySource, from, head) {
  if (!found.steps[0].centre) return;
  const last = found.source.length - 1;
  const rowOf = (/** @type {number} */ position) => {
    const token = Math.min(Math.max(position, 0), last);
    return ySource(source.findIndex((/** @type {any} */ unit) => unit.tokens.includes(token)));
  };
  // Whole positions are looked at; the centre lies anywhere between them.
  const top = (/** @type {any} */ { centre, window }) => rowOf(Math.ceil(centre - window)) - ROW / 2;
  const bottom = (/** @type {any} */ { centre, window }) => rowOf(Math.floor(centre + window)) + ROW / 2;
  const between = (/** @type {number} */ centre) => {
    const [above, below] = [rowOf(Math.floor(centre)), rowOf(Math.ceil(centre))];
    return above + (centre - Math.floor(centre)) * (below - above);
  };
  const data = target.flatMap((/** @type {any} */ unit, /** @type {number} */ row) => {
    const { centre: all, window } = found.steps[unit.tokens[0]];
    const centres = all.length > 1 && head ? [all[head - 1]] : all;
    return centres.map((/** @type {number} */ centre) => ({
      row,
      centre,
      window,
    }));
  });
  svg
    .selectAll("rect.window")
    .data(data)
    .join("rect")
    .attr("class", "window")
    .attr("opacity", 0)
    .attr("x", 50)
    .attr("rx", 6)
    .attr("width", from - 48)
    .attr("y", top)
    .attr("height", (/** @type {any} */ d) => bottom(d) - top(d));
  svg
    .selectAll("path.centre")
    .data(data)
    .join("path")
    .attr("class", "centre")
    .attr("opacity", 0)
    .attr("d", (/** @type {any} */ { centre }) => `M${from + 2},${between(centre)} l9,-5 v10 z`);
}

/** @param {any} svg @param {any[]} units @param {any} how */
function words(svg, units, { x, anchor, y, data, room, lang, role }) {
  const groups = svg
    .append("g")
    .selectAll("g")
    .data(units)
    .join("g")
    .attr("role", role)
    .attr("lang", isKnown(lang) ? lang : null)
    .attr("tabindex", 0)
    .attr(`data-${data}`, (/** @type {any} */ _, /** @type {number} */ i) => i);
  groups
    .append("rect")
    .attr("class", "plate")
    .attr("rx", 6)
    .attr("height", ROW - 4)
    .attr("width", room + 8)
    .attr("x", anchor === "end" ? x - room - 4 : x - 4)
    .attr("y", (/** @type {any} */ _, /** @type {number} */ i) => y(i) - ROW / 2 + 2);
  groups
    .append("text")
    .attr("class", (/** @type {any} */ unit) => (unit.kind === "word" ? "" : "quiet"))
    .attr("data-room", room)
    .attr("x", x)
    .attr("text-anchor", anchor)
    .attr("y", (/** @type {any} */ _, /** @type {number} */ i) => y(i) + 5)
    .text((/** @type {any} */ unit) => unit.label);
  return groups;
}

/** Shorten words that are wider than their room, once they are on the page. @param {SVGSVGElement} svg */
function fit(svg) {
  for (const node of /** @type {NodeListOf<SVGTextElement>} */ (svg.querySelectorAll("[data-room]"))) {
    let letters = Array.from(node.textContent ?? "");
    while (letters.length > 2 && node.getComputedTextLength() > Number(node.dataset.room)) {
      letters = letters.slice(0, -1);
      node.textContent = `${letters.join("")}…`;
    }
  }
}
