// @ts-check
/** A part of the page as a file: SVG with its styles inside, or PNG. */

import { drawing } from "./drawing.js";

/** @param {() => Element | null} find the part to save: a picture, or anything else @param {string} name */
export function saveButtons(find, name) {
  const box = document.createElement("span");
  box.className = "end";
  for (const kind of /** @type {const} */ (["SVG", "PNG"])) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.id = `save-${name}-${kind}`;
    button.textContent = `Save ${kind}`;
    button.addEventListener("click", async () => {
      const place = find();
      if (!place) return;
      const svg = drawing(place);
      const blob = kind === "SVG" ? asBlob(svg) : await png(svg);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = `${name}.${kind.toLowerCase()}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    });
    box.append(button);
  }
  return box;
}

/** @param {SVGSVGElement} svg */
function asBlob(svg) {
  return new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" });
}

/** @param {SVGSVGElement} svg @returns {Promise<Blob>} */
async function png(svg) {
  const url = URL.createObjectURL(asBlob(svg));
  const image = new Image();
  await new Promise((resolve, reject) => {
    image.onload = resolve;
    image.onerror = reject;
    image.src = url;
  });
  const canvas = document.createElement("canvas");
  canvas.width = 2 * Number(svg.getAttribute("width"));
  canvas.height = 2 * Number(svg.getAttribute("height"));
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(url);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject()), "image/png"));
}
