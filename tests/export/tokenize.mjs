// node tokenize.mjs MODEL LOWERCASE < lines as JSON > their tokens, and their texts again, as JSON

import { readFileSync } from "node:fs";
import { detokenize, tokenizer } from "../../nmt/export/browser/tokenizer.js";

const tokenize = tokenizer(new Uint8Array(readFileSync(process.argv[2])), process.argv[3] === "true");
const tokens = JSON.parse(readFileSync(0, "utf8")).map(tokenize);
process.stdout.write(JSON.stringify({ tokens, texts: tokens.map(detokenize) }));
