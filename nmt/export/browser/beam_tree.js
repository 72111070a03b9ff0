// @ts-check
/** A beam search as a tree, as in nmt/page/beam_tree.py: every hypothesis that it looked at, and what became of it. */

import { lengthPenalty } from "./search.js";
import { EOS } from "./vocabulary.js";

/** @typedef {import("./search.js").Choice} Choice */
/** @typedef {import("./search.js").Hypothesis} Hypothesis */

/** The nodes, parents before children and better ones first among those of one length. A node's `parent` is the place of
 * another one; `rank` is its place among the results, if it is one of them.
 * @param {Choice[]} watched of all steps @param {Hypothesis[]} found the results @param {number} beamSize @param {number} alpha */
export function beamTree(watched, found, beamSize, alpha) {
  const ranks = new Map(found.map(({ ids }, rank) => [ids.join(), rank]));
  /** @type {{parent: number | null, token: number, length: number, log_probability: number, penalty: number, score: number,
   * fate: "kept" | "cut" | "finished", rank: number | null}[]} */
  const nodes = [];
  /** @type {number[][]} */
  const ids = []; // of each node
  /** @type {(number | null)[]} */
  let rows = [null]; // the node that each row of the last step stands for
  watched.forEach(({ candidates, goingOn }, step) => {
    const length = step + 1;
    const penalty = lengthPenalty(length, alpha);
    const first = nodes.length;
    candidates.forEach(({ score, parent: row, token }, place) => {
      const parent = rows[row];
      const own = [...(parent === null ? [] : ids[parent]), token];
      const ends = token === EOS && place < beamSize;
      const fate = ends ? "finished" : goingOn.includes(place) ? "kept" : "cut";
      const rank = fate === "cut" ? null : (ranks.get(own.join()) ?? null);
      nodes.push({ parent, token, length, log_probability: score, penalty, score: score / penalty, fate, rank });
      ids.push(own);
    });
    rows = goingOn.map((place) => first + place);
  });
  return nodes;
}
