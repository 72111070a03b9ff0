// @ts-check
/** Any part of the page as one picture of plain SVG, which needs no style sheet: its boxes, its words, its pictures. */

const SVG = "http://www.w3.org/2000/svg";
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
const CLEAR = "rgba(0, 0, 0, 0)";

/** @param {Element} place */
export function drawing(place) {
  const frame = place.getBoundingClientRect();
  const picture = place instanceof SVGSVGElement ? alone(place) : drawn(place, frame);
  const [width, height] = ["width", "height"].map((name) => Number(picture.getAttribute(name)));
  const card = place.closest("#panel, dialog") ?? document.body;
  picture.prepend(made("rect", { width, height, fill: getComputedStyle(card).backgroundColor }));
  picture.setAttribute("xmlns", SVG);
  return picture;
}

/** @param {SVGSVGElement} svg */
function alone(svg) {
  const copy = /** @type {SVGSVGElement} */ (svg.cloneNode(true));
  const originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of STYLES) element.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "tabindex", "role"]) element.removeAttribute(name);
  });
  const [, , width, height] = (svg.getAttribute("viewBox") ?? "0 0 1 1").split(" ");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  return copy;
}

/** @param {Element} place @param {DOMRect} frame */
function drawn(place, frame) {
  const margin = 16;
  const picture = /** @type {SVGSVGElement} */ (made("svg", {}));
  let [right, bottom] = [0, 0];
  const put = (/** @type {Element} */ shape, /** @type {DOMRect} */ box) => {
    picture.append(shape);
    right = Math.max(right, box.right - frame.left + 2 * margin);
    bottom = Math.max(bottom, box.bottom - frame.top + 2 * margin);
  };
  const at = (/** @type {DOMRect} */ box) => ({
    x: box.left - frame.left + margin,
    y: box.top - frame.top + margin,
    width: box.width,
    height: box.height,
  });

  /** @param {Element} element */
  function draw(element) {
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    if (style.visibility === "hidden" || !box.width || !box.height || element.matches("button.quiet")) return;
    if (element instanceof SVGSVGElement) {
      const copy = alone(element);
      for (const [name, value] of Object.entries(at(box))) copy.setAttribute(name, String(value));
      return put(copy, box);
    }
    const border = parseFloat(style.borderLeftWidth) ? style.borderLeftColor : "none";
    const fill = style.backgroundColor === CLEAR ? "none" : style.backgroundColor;
    if (fill !== "none" || border !== "none")
      put(made("rect", { ...at(box), fill, stroke: border, rx: parseFloat(style.borderTopLeftRadius) || 0 }), box);
    if (element instanceof HTMLMeterElement) {
      const part = { ...at(box), width: (box.width * element.value) / (element.max || 1) };
      return put(made("rect", { ...part, fill: style.color, rx: 3 }), box);
    }
    for (const child of element.childNodes)
      if (child instanceof Text) words(child, style);
      else if (child instanceof Element) draw(child);
  }

  /** @param {Text} text @param {CSSStyleDeclaration} style */
  function words(text, style) {
    const font = { "font-size": style.fontSize, "font-weight": style.fontWeight, "font-style": style.fontStyle };
    const { ascent, height } = measured(style);
    for (const found of text.data.matchAll(/\S+/g)) {
      const range = document.createRange();
      range.setStart(text, found.index);
      range.setEnd(text, found.index + found[0].length);
      const box = range.getBoundingClientRect();
      const { x, y } = at(box);
      const baseline = y + (box.height - height) / 2 + ascent;
      const word = made("text", { x, y: baseline, fill: style.color, "font-family": style.fontFamily, ...font });
      word.textContent = found[0];
      put(word, box);
    }
  }
  draw(place);
  picture.setAttribute("viewBox", `0 0 ${right} ${bottom}`);
  picture.setAttribute("width", String(right));
  picture.setAttribute("height", String(bottom));
  return picture;
}

/** How far a font reaches above its line, and in all. @param {CSSStyleDeclaration} style */
function measured(style) {
  const context = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  context.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const { fontBoundingBoxAscent: ascent, fontBoundingBoxDescent: descent } = context.measureText("x");
  return { ascent, height: ascent + descent };
}

/** @param {string} name @param {Record<string, string | number>} attributes */
function made(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}
