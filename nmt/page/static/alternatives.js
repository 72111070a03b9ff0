// @ts-check
/** View 4: what else the model considered at a step; another word in its place; attention forced onto a source word. */

import { isHeld, live } from "./api.js";
import { element } from "./elements.js";
import { saveButtons } from "./save.js";
import { forcedOnto } from "./state.js";
import { candidates } from "./steps.js";
import { mainOf, named, unitsOf } from "./tokens.js";

/** @param {HTMLDialogElement} dialog @param {any} found @param {number} t @param {import("./state.js").State} state @param {any} actions */
export function openMind(dialog, found, t, state, actions) {
  const step = found.steps[t];
  const considered = element("div", "considered");
  const close = /** @type {HTMLButtonElement} */ (element("button", "quiet close", "Close"));
  close.type = "button";
  close.addEventListener("click", () => dialog.close());
  const title = element("h2", "", `Instead of “${named(found.tokens.slice(0, t), step.token, state.words)}”`);
  title.id = "mind-title";
  const choose = (/** @type {string} */ token) => (dialog.close(), actions.replace(t, token));
  considered.append(title, candidates(found, t, state, "considered", choose));
  dialog.replaceChildren(close, considered, ...(live ? [typed(dialog, found, t, actions)] : []));
  if (step.weights) dialog.append(forcing(dialog, found, t, state, actions));
  const bar = element("div", "bar");
  bar.append(saveButtons(() => considered, "considered"));
  dialog.append(bar);
  dialog.onclose = () => actions.forget();
  if (!dialog.open) dialog.showModal();
}

/** @param {HTMLDialogElement} dialog @param {any} found @param {number} t @param {any} actions */
function typed(dialog, found, t, actions) {
  const form = document.createElement("form");
  const input = document.createElement("input");
  input.maxLength = 100;
  input.required = true;
  input.autocomplete = "off";
  const label = element("label", "", "Another word");
  label.append(input);
  const go = element("button", "", "Put it there");
  form.append(label, go);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    dialog.close();
    actions.type(t, input.value.trim());
  });
  return form;
}

/** @param {HTMLDialogElement} dialog @param {any} found @param {number} t @param {any} state @param {any} actions */
function forcing(dialog, found, t, state, actions) {
  const form = document.createElement("form");
  const select = document.createElement("select");
  const label = element("label", "", "Or have this step read only");
  const source = unitsOf(found.source, state.words);
  source.forEach((unit, i) => {
    const s = mainOf(unit, found.source);
    const option = new Option(`${i + 1}. ${unit.label}`, String(s));
    option.disabled = !isHeld("/api/explain", { text: state.text, ...forcedOnto(state, t, s) });
    select.append(option);
  });
  const now = state.forced.find((/** @type {number[]} */ [at]) => at === t);
  const weights = found.steps[t].weights;
  const looked = now ? now[1] : weights.indexOf(Math.max(...weights));
  select.value = String(mainOf(source.find(({ tokens }) => tokens.includes(looked)) ?? source[0], found.source));
  label.append(select);
  const go = element("button", "quiet", "Force its attention");
  form.append(label, go);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    dialog.close();
    actions.force(t, Number(select.value));
  });
  return form;
}
