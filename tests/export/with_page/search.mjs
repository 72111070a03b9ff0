// node search.mjs < a toy model and how to search, as JSON > the hypotheses and the tree, as JSON
//
// A row of the toy's table holds the log-probabilities that follow a history; its number is the search's state.

import { readFileSync } from "node:fs";
import { beamTree } from "../../../nmt/export/browser/beam_tree.js";
import { beamSearch } from "../../../nmt/export/browser/search.js";
import { BOS } from "../../../nmt/export/browser/vocabulary.js";

const { table, ...options } = JSON.parse(readFileSync(0, "utf8"));
const after = (number, token) => (token === BOS ? 0 : (number * 31 + token * 7 + 1) % table.length);
const step = async (tokens, parents, numbers) => {
  const next = tokens.map((token, i) => after(numbers[parents[i]], token));
  return [Float32Array.from(next.flatMap((number) => table[number])), next];
};
const watched = [];
const found = await beamSearch(step, [0], { ...options, watch: (choice) => watched.push(choice) });
process.stdout.write(JSON.stringify({ found, tree: beamTree(watched, found, options.beamSize, options.alpha) }));
