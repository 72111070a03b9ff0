// @ts-check
/** A picture on the page as a file: SVG with its styles inside, or PNG. */

const STYLES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-opacity",
  "stroke-dasharray",
  "opacity",
  "font-size",
  "font-family",
  "font-weight",
];

/** @param {() => SVGSVGElement | null} find @param {string} name */
export function saveButtons(find, name) {
  const box = document.createElement("span");
  box.className = "end";
  for (const kind of /** @type {const} */ (["SVG", "PNG"])) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = `Save ${kind}`;
    button.addEventListener("click", async () => {
      const svg = find();
      if (!svg) return;
      const blob = kind === "SVG" ? asBlob(alone(svg)) : await png(alone(svg));
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

/** A copy that needs no style sheet. @param {SVGSVGElement} svg */
function alone(svg) {
  const copy = /** @type {SVGSVGElement} */ (svg.cloneNode(true));
  const originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of STYLES) element.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "tabindex", "role"]) element.removeAttribute(name);
  });
  const [, , width, height] = (svg.getAttribute("viewBox") ?? "0 0 1 1").split(" ");
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const page = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  page.setAttribute("width", "100%");
  page.setAttribute("height", "100%");
  page.setAttribute("fill", getComputedStyle(document.body).getPropertyValue("--card"));
  copy.prepend(page);
  return copy;
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
