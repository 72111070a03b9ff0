// @ts-check
/** Selections, each with a sentence on what it changes, and one on what is chosen. */

import { element } from "../../page/static/elements.js";

/** @import { Control } from "./settings.js" */

/** @param {string} id what their ids begin with @param {Control[]} list @param {any} values @param {(name: string, value: string) => void} change */
export function controls(id, list, values, change) {
  const place = element("div", "controls");
  for (const { name, label, options, says } of list) {
    const select = document.createElement("select");
    select.id = `${id}-${name}`;
    for (const [value, text] of options) select.append(new Option(text, value, false, value === String(values[name])));
    select.addEventListener("change", () => change(name, select.value));
    const box = element("label", "", label);
    const [, , chosen = ""] = options.find(([value]) => value === String(values[name])) ?? [];
    const why = element("p", "", `${says} ${chosen}`.trim());
    box.append(select);
    const whole = element("div");
    whole.append(box, why);
    place.append(whole);
  }
  return place;
}
