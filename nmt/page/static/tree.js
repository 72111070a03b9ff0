// @ts-check
/** View 3: the beam search as a tree. A column for each step, the better hypotheses above. */

import { element, note, scrolling } from "./elements.js";
import { heatMap } from "./heat.js";
import { ask, isHeld } from "./api.js";
import { saveButtons } from "./save.js";
import { named, spelt, unitsOf, weightsOf } from "./tokens.js";

const d3 = /** @type {any} */ (globalThis).d3;
const [COLUMN, ROW, WIDTH] = [112, 34, 88];

/** @param {HTMLElement} place @param {any} found @param {import("./state.js").State} state @param {any} actions */
export function showTree(place, found, state, actions) {
  place.replaceChildren();
  if (!found.tree.length) return note(place, "Type a sentence, and the search for its translation appears here.");
  const bar = element("div", "bar");
  const legend = element("div", "legend");
  for (const [kind, text] of [
    ["best", "the best translation"],
    ["kept", "kept"],
    ["finished", "finished"],
    ["cut", "cut"],
    ["greedy", "greedy search"],
  ])
    legend.append(element("span", `is-${kind}`, text));
  bar.append(
    legend,
    saveButtons(() => scroll.firstElementChild, "beam"),
  );
  const scroll = scrolling("The search, from the first token to the last");
  const detail = element("div", "detail");
  detail.setAttribute("aria-live", "polite");
  place.append(bar, scroll, detail);
  const nodes = laidOut(found);
  const svg = drawn(nodes, state.words);
  scroll.append(svg.node());
  /** @type {AbortController | undefined} */
  let asking;
  const best = nodes.find((/** @type {any} */ node) => node.rank === 0) ?? nodes[0];
  let pointed = nodes[state.node ?? -1] ?? best;
  const point = async (/** @type {any} */ node) => {
    const path = pathTo(nodes, node);
    const inside = new Set(path.map((one) => one.place));
    svg.selectAll(".node").classed("pointed", (/** @type {any} */ d) => inside.has(d.place));
    svg.selectAll(".link").classed("pointed", (/** @type {any} */ d) => inside.has(d.place));
    svg.selectAll(".node").attr("tabindex", (/** @type {any} */ d) => (d.place === node.place ? 0 : -1));
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    describe(detail, node, path, actions);
    await new Promise((resolve) => setTimeout(resolve, 150)); // whoever only passes by asks for nothing
    if (signal.aborted) return;
    if (node !== pointed) actions.remember({ node: node === best ? null : node.place });
    pointed = node;
    await attentionOf(detail, found, path, state, signal);
  };
  svg
    .selectAll(".node")
    .on("pointerenter focus", (/** @type {any} */ _, /** @type {any} */ node) => point(node))
    .on("keydown", (/** @type {KeyboardEvent} */ event, /** @type {any} */ node) => {
      const other = beside(nodes, node, event.key);
      if (other) (event.preventDefault(), svg.selectAll(".node").nodes()[other.place].focus());
    });
  point(pointed);
}

/** The node to which an arrow key leads: the one before it, its best child, or another one of its step. @param {any[]} nodes @param {any} node @param {string} key */
function beside(nodes, node, key) {
  if (key === "ArrowLeft") return nodes[node.parent ?? -1];
  if (key === "ArrowRight") return nodes.find(({ parent }) => parent === node.place);
  const step = { ArrowUp: -1, ArrowDown: 1 }[key];
  return step && nodes.find(({ length, row }) => length === node.length && row === node.row + step);
}

/** @param {any} found */
function laidOut(found) {
  /** @type {Map<number, number>} */
  const counts = new Map();
  const greedy = found.greedy.tokens;
  const nodes = found.tree.map((/** @type {any} */ node, /** @type {number} */ place) => {
    const row = counts.get(node.length) ?? 0;
    counts.set(node.length, row + 1);
    return { ...node, place, row, x: (node.length - 1) * COLUMN + 8, y: row * ROW + 30, best: false, greedy: false };
  });
  for (const node of nodes) {
    const parent = node.parent === null ? null : nodes[node.parent];
    node.greedy = greedy[node.length - 1] === node.token && (parent === null || parent.greedy);
  }
  for (
    let node = nodes.find((/** @type {any} */ n) => n.rank === 0);
    node;
    node = node.parent === null ? null : nodes[node.parent]
  )
    node.best = true;
  return nodes;
}

/** @param {any[]} nodes @param {any} node */
function pathTo(nodes, node) {
  const path = [];
  for (let at = node; at; at = at.parent === null ? null : nodes[at.parent]) path.unshift(at);
  return path;
}

/** @param {any[]} nodes @param {boolean} joined */
function drawn(nodes, joined) {
  const labelOf = (/** @type {any} */ node) => {
    const before = pathTo(nodes, node).slice(0, -1);
    return named(before.map(({ token }) => token), node.token, joined); // prettier-ignore
  };
  const width = d3.max(nodes, (/** @type {any} */ n) => n.x) + WIDTH + 16;
  const height = d3.max(nodes, (/** @type {any} */ n) => n.y) + ROW;
  const svg = d3
    .create("svg")
    .attr("class", "tree")
    .attr("viewBox", `0 0 ${width} ${height}`)
    .attr("width", width)
    .attr("height", height)
    .attr("role", "group")
    .attr("aria-label", `${nodes.length} hypotheses; arrow keys lead from one to the next`);
  const steps = d3.range(1, d3.max(nodes, (/** @type {any} */ n) => n.length) + 1);
  svg
    .append("g")
    .attr("aria-hidden", "true")
    .selectAll("text")
    .data(steps)
    .join("text")
    .attr("class", "quiet")
    .attr("y", 14)
    .attr("x", (/** @type {number} */ step) => (step - 1) * COLUMN + 8)
    .text((/** @type {number} */ step) => `step ${step}`);
  const links = nodes.filter((node) => node.parent !== null);
  svg
    .append("g")
    .attr("aria-hidden", "true")
    .selectAll("path")
    .data(links)
    .join("path")
    .attr("class", (/** @type {any} */ n) => `link ${n.fate}${n.best ? " best" : ""}`)
    .attr("d", (/** @type {any} */ n) => {
      const from = nodes[n.parent];
      const [x0, x1, y0, y1] = [from.x + WIDTH, n.x, from.y + 13, n.y + 13];
      return `M${x0},${y0} C${(x0 + x1) / 2},${y0} ${(x0 + x1) / 2},${y1} ${x1},${y1}`;
    });
  const groups = svg
    .append("g")
    .selectAll("g")
    .data(nodes)
    .join("g")
    .attr("role", "button")
    .attr("tabindex", -1)
    .attr("class", (/** @type {any} */ n) => `node ${n.fate}${n.best ? " best" : ""}${n.greedy ? " greedy" : ""}`)
    .attr("transform", (/** @type {any} */ n) => `translate(${n.x},${n.y})`)
    .attr(
      "aria-label",
      (/** @type {any} */ n) =>
        `step ${n.length}: ${labelOf(n)}, ${n.fate}, score ${n.score.toFixed(2)}${n.greedy ? ", greedy search" : ""}`,
    );
  groups.append("rect").attr("class", "plate").attr("width", WIDTH).attr("height", 26).attr("rx", 7);
  groups
    .append("text")
    .attr("class", "small")
    .attr("x", 8)
    .attr("y", 17.5)
    .text((/** @type {any} */ n) => short(labelOf(n)));
  groups
    .filter((/** @type {any} */ n) => n.greedy)
    .append("circle")
    .attr("class", "mark-greedy")
    .attr("cx", WIDTH - 9)
    .attr("cy", 13)
    .attr("r", 4.5);
  return svg;
}

/** @param {string} text */
function short(text) {
  return text.length > 9 ? `${text.slice(0, 8)}…` : text;
}

/** @param {HTMLElement} place @param {any} node @param {any[]} path @param {any} actions */
function describe(place, node, path, actions) {
  const fates = {
    kept: "The search went on from it, unless enough others had finished.",
    cut: "The search cut it: others were better.",
    finished: "It is finished.",
  };
  const text = element("p", "sentence", spelt(path.map((one) => one.token)));
  const numbers = element(
    "p",
    "number",
    `log-probability ${node.log_probability.toFixed(3)} ÷ length penalty ${node.penalty.toFixed(3)} = score ${node.score.toFixed(3)}`,
  );
  const fate = element(
    "p",
    "",
    `${fates[/** @type {"kept"} */ (node.fate)]}${node.rank === null ? "" : ` Its rank among the results: ${node.rank + 1}.`}`,
  );
  place.replaceChildren(text, numbers, fate);
  const tokens = path.map((one) => one.token).filter((token) => token !== "<eos>");
  if (node.fate !== "finished" && tokens.length) {
    const go = /** @type {HTMLButtonElement} */ (element("button", "quiet", "Go on from here"));
    go.type = "button";
    go.addEventListener("click", () => actions.begin(tokens));
    place.append(go);
  }
}

/** @param {HTMLElement} place @param {any} found @param {any[]} path @param {any} state @param {AbortSignal} signal */
async function attentionOf(place, found, path, state, signal) {
  const tokens = path.map((one) => one.token).filter((token) => token !== "<eos>");
  if (!found.steps[0]?.weights || !tokens.length) return;
  try {
    const own = found.steps.length >= tokens.length && tokens.every((token, i) => found.steps[i].token === token);
    let explained = found;
    if (!own) {
      const asked = { model: state.model, text: state.text, forced: state.forced, beam_size: 1, prefix: tokens };
      if (!isHeld("/api/explain", asked)) return; // a file has only some of them
      explained = await ask("/api/explain", asked, signal);
    }
    if (signal.aborted) return;
    const source = unitsOf(explained.source, state.words);
    const target = unitsOf(explained.target.slice(0, tokens.length), state.words);
    const box = scrolling("Attention of this hypothesis");
    heatMap(box, {
      source,
      target,
      matrix: weightsOf(
        explained.steps.map((/** @type {any} */ s) => s.weights),
        source,
        target,
      ),
      most: 22,
    });
    place.append(box);
  } catch (error) {
    if (/** @type {Error} */ (error).name !== "AbortError")
      place.append(element("p", "hint", /** @type {Error} */ (error).message));
  }
}
