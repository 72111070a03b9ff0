// @ts-check
/** What is inside a sentencepiece model's bytes: a message of protocol buffers, `ModelProto`. */

/** @typedef {{text: string, score: number, type: number}} Piece */
/** @typedef {{pieces: Piece[], isBpe: boolean, charsMap: Uint8Array, dummyPrefix: boolean, extraSpaces: boolean}} Contents
 * the pieces, whether they are merges, and how text is normalised */

export const NORMAL = 1,
  USER_DEFINED = 4,
  UNUSED = 5; // types of pieces
const UNIGRAM = 1,
  BPE = 2; // types of models

/** @param {Uint8Array} bytes */
export function readModel(bytes) {
  /** @type {Contents} */
  const model = { pieces: [], isBpe: false, charsMap: new Uint8Array(0), dummyPrefix: true, extraSpaces: false };
  for (const [field, value] of fields(bytes)) {
    if (field === 1) model.pieces.push(readPiece(value));
    if (field === 2) readTrainer(value, model);
    if (field === 3) readNormalizer(value, model);
  }
  return model;
}

/** @param {Uint8Array} bytes */
function readPiece(bytes) {
  const piece = { text: "", score: 0, type: NORMAL };
  for (const [field, value] of fields(bytes)) {
    if (field === 1) piece.text = new TextDecoder().decode(value);
    if (field === 2) piece.score = new DataView(value.buffer, value.byteOffset, 4).getFloat32(0, true);
    if (field === 3) piece.type = value;
  }
  return piece;
}

/** @param {Uint8Array} bytes @param {Contents} model */
function readTrainer(bytes, model) {
  for (const [field, value] of fields(bytes)) {
    if (field === 3 && value !== UNIGRAM && value !== BPE) throw new Error(`a sentencepiece model of type ${value}`);
    if (field === 3) model.isBpe = value === BPE;
    if (field === 35 && value) throw new Error("a sentencepiece model that cuts unknown text into bytes");
  }
}

/** @param {Uint8Array} bytes @param {Contents} model */
function readNormalizer(bytes, model) {
  for (const [field, value] of fields(bytes)) {
    if (field === 2) model.charsMap = value;
    if (field === 3) model.dummyPrefix = value !== 0;
    if (field === 4) model.extraSpaces = value === 0;
    if (field === 5 && value === 0) throw new Error("a sentencepiece model that does not mark spaces");
  }
}

/** The fields of a message, in their order: their numbers, and their values as a number or as bytes.
 * @param {Uint8Array} bytes @returns {Generator<[number, any]>} */
function* fields(bytes) {
  let place = 0;
  const number = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      if (place >= bytes.length) throw new Error("the sentencepiece model is cut short");
      const byte = bytes[place++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  while (place < bytes.length) {
    const key = number();
    const kind = key & 7;
    if (kind === 0) {
      yield [key >>> 3, number()];
      continue;
    }
    if (![1, 2, 5].includes(kind)) throw new Error("this is no sentencepiece model");
    const size = kind === 2 ? number() : kind === 1 ? 8 : 4;
    if (place + size > bytes.length) throw new Error("the sentencepiece model is cut short");
    yield [key >>> 3, bytes.subarray(place, place + size)];
    place += size;
  }
}
