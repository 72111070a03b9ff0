// node tokenize.mjs KIND LOWERCASE MODEL < lines as JSON > their tokens, texts again, and labels, as JSON

import { readFileSync } from "node:fs";
import { described } from "../../../nmt/export/browser/labels.js";
import { tokenizerOf } from "../../../nmt/export/browser/tokenizer.js";

const [kind, lowercase, path] = process.argv.slice(2);
const model = path ? new Uint8Array(readFileSync(path)) : null;
const { tokenize, detokenize, pieces } = tokenizerOf(kind, lowercase === "true", model, true);
const tokens = JSON.parse(readFileSync(0, "utf8")).map(tokenize);
const labels = tokens.map((each) => described([...each, "<eos>"], pieces));
process.stdout.write(JSON.stringify({ tokens, texts: tokens.map(detokenize), labels }));
