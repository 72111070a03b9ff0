// @ts-check
/** A checkpoint's file as `nmt.checkpoint.file` stores it: safetensors, whose metadata has plain values and a SHA-256. */

import { sha256 } from "./sha256.js";

/** @typedef {{shape: number[], values: Float32Array}} Tensor */

const BEFORE_DIGEST = String.raw`{\"sha256\": \"`; // in the header, where quotes of the metadata are escaped
const NO_DIGEST = "0".repeat(64);
const NO_CHECKPOINT = "This is no checkpoint of nmt, or it was cut short.";
const NUMBERS = /(?<=[[,:]\s*)(-?Infinity|NaN)(?=\s*[\],}])/g; // which Python writes, and JSON has not

/** @param {object} contents plain values @param {Record<string, Tensor>} tensors */
export function writeFile(contents, tensors) {
  const values = `{"sha256": "${NO_DIGEST}", "shared": {}, "contents": ${JSON.stringify(contents)}}`;
  let size = 0;
  const places = Object.entries(tensors).map(([name, { shape, values }]) => {
    const from = size;
    size += 4 * values.length;
    return [name, { dtype: "F32", shape, data_offsets: [from, size] }];
  });
  const text = JSON.stringify({ __metadata__: { nmt: values }, ...Object.fromEntries(places) });
  const header = new TextEncoder().encode(text);
  const start = 8 + 8 * Math.ceil(header.length / 8);
  const file = new Uint8Array(start + size).fill(32, 8, start);
  const view = new DataView(file.buffer);
  view.setBigUint64(0, BigInt(start - 8), true);
  file.set(header, 8);
  let at = start;
  for (const tensor of Object.values(tensors))
    for (const value of tensor.values) {
      view.setFloat32(at, value, true);
      at += 4;
    }
  const digest = new TextEncoder().encode(sha256(file));
  file.set(digest, placeOfDigest(file, start));
  return file;
}

/** The plain values, and the tensors of 32 bits whose names begin with `prefix`. Throws an Error for a file that is not
 * what was once written. @param {Uint8Array} file @param {string} prefix */
export function readFile(file, prefix) {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const start = file.length < 8 ? Infinity : 8 + Number(view.getBigUint64(0, true));
  const place = start > file.length ? -1 : placeOfDigest(file, start);
  if (place < 0) throw new Error(NO_CHECKPOINT);
  const blank = new Uint8Array(file);
  blank.set(new TextEncoder().encode(NO_DIGEST), place);
  if (sha256(blank) !== new TextDecoder().decode(file.subarray(place, place + 64)))
    throw new Error("The checkpoint is damaged: its checksum is wrong.");
  const { __metadata__, ...places } = JSON.parse(new TextDecoder().decode(file.subarray(8, start)));
  const { shared, contents } = JSON.parse(__metadata__.nmt.replace(NUMBERS, "null"));
  /** @type {Record<string, Tensor>} */
  const tensors = {};
  for (const [name, { dtype, shape, data_offsets }] of Object.entries(places)) {
    if (!name.startsWith(prefix)) continue;
    if (dtype !== "F32") throw new Error(`${name} is stored as ${dtype}: the page reads weights of 32 bits (F32).`);
    const [from, to] = data_offsets;
    const values = Float32Array.from({ length: (to - from) / 4 }, (_, i) =>
      view.getFloat32(start + from + 4 * i, true),
    );
    tensors[name] = { shape, values };
  }
  for (const name of Object.keys(shared)) if (name.startsWith(prefix)) tensors[name] = tensors[shared[name]];
  return { contents, tensors };
}

/** Where the digest's digits begin, or -1. @param {Uint8Array} file @param {number} start of the tensors */
function placeOfDigest(file, start) {
  const place = new TextDecoder("latin1").decode(file.subarray(0, start)).indexOf(BEFORE_DIGEST);
  return place < 0 ? -1 : place + BEFORE_DIGEST.length;
}
