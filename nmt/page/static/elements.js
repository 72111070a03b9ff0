// @ts-check
/** Elements of the page. */

/** @param {HTMLElement} place @param {string} text */
export function note(place, text) {
  place.replaceChildren(element("p", "empty", text));
}

/** @param {string} name @param {string} [kind] @param {string} [text] */
export function element(name, kind = "", text = "") {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  made.textContent = text;
  return made;
}

/** A box that may be wider than the screen, and that the keyboard can move. @param {string} name */
export function scrolling(name) {
  const box = element("div", "scroll");
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", name);
  return box;
}

/** Draw something anew. Whoever was at an element with an id is there again. @param {() => void} draw */
export function keepingFocus(draw) {
  const id = document.activeElement?.id;
  draw();
  if (id && document.activeElement?.id !== id) document.getElementById(id)?.focus();
}

/** @param {string} text @param {HTMLElement} control */
export function labelled(text, control) {
  const label = element("label");
  label.append(control, ` ${text}`);
  return label;
}
