// @ts-check
/** View 8: training sentences in which a word is most like the one that is chosen here, to the model. */

import { ask } from "./api.js";
import { element, note, scrolling } from "./elements.js";
import { saveButtons } from "./save.js";
import { unitsOf } from "./tokens.js";

const NONE = "This model has no index of its training text: nmt index CHECKPOINT makes one, beside the checkpoint.";

/** @param {HTMLElement} place @param {any} found @param {import("./state.js").State} state @param {any} actions @param {any[]} models @param {AbortSignal} signal */
export async function showNeighbours(place, found, state, actions, models, signal) {
  if (!models.find((model) => model.id === state.model)?.neighbours) return note(place, NONE);
  if (!found.steps.length) return note(place, "Type a sentence, and choose one of its words here.");
  const bar = element("div", "bar");
  const body = element("div", "runs");
  bar.append(
    element("p", "hint", "Choose a word. The model was in a similar state at the words below."),
    saveButtons(() => body, "neighbours"),
  );
  const choice = element("div");
  const list = scrolling("Neighbours");
  list.setAttribute("aria-live", "polite");
  body.append(choice, list);
  place.replaceChildren(bar, body);
  const tokens = found.target.filter((/** @type {any} */ token) => token.kind !== "end");
  /** @type {Record<string, any[]>} */
  const sides = { source: found.source.filter((/** @type {any} */ token) => token.kind !== "end"), target: tokens };
  let chosen = { side: state.side, step: Math.min(state.step, Math.max(0, sides[state.side].length - 1)) };
  /** @type {AbortController | undefined} */
  let asking;

  /** @param {string} side @param {number} step */
  async function choose(side, step) {
    chosen = { side, step };
    actions.remember(chosen);
    for (const word of choice.querySelectorAll("button"))
      word.setAttribute("aria-pressed", String(word.dataset.side === side && Number(word.dataset.step) === step));
    asking?.abort();
    asking = new AbortController();
    signal.addEventListener("abort", () => asking?.abort());
    const question = { model: state.model, text: state.text, side, place: step };
    const target = tokens.map((/** @type {any} */ token) => token.token);
    const { neighbours } = await ask("/api/neighbours", { ...question, target }, asking.signal);
    list.replaceChildren(table(neighbours, side));
  }
  for (const [side, name] of [
    ["source", "source"],
    ["target", "translation"],
  ]) {
    const line = element("p", "choosing");
    line.setAttribute("role", "group");
    line.setAttribute("aria-label", name);
    line.append(element("span", "number", name));
    for (const unit of unitsOf(sides[side], state.words)) {
      const word = /** @type {HTMLButtonElement} */ (element("button", "word", unit.label));
      const last = unit.tokens[unit.tokens.length - 1]; // whose state knows the whole word
      word.type = "button";
      word.dataset.side = side;
      word.dataset.step = String(last);
      if (chosen.side === side && unit.tokens.includes(chosen.step)) chosen.step = last;
      word.addEventListener("click", () => choose(side, last).catch(failed));
      line.append(word);
    }
    choice.append(line);
  }
  const failed = (/** @type {Error} */ error) => error.name === "AbortError" || note(list, error.message);
  await choose(chosen.side, chosen.step).catch(failed);
}

/** @param {any[]} neighbours @param {string} side */
function table(neighbours, side) {
  const made = element("table", "near");
  const head = element("tr");
  for (const name of ["likeness", "training sentence", "its translation"]) head.append(element("th", "", name));
  made.append(head);
  for (const one of neighbours) {
    const row = element("tr");
    row.append(element("td", "number", one.likeness.toFixed(3)));
    for (const own of ["source", "target"]) {
      const cell = element("td");
      for (const unit of unitsOf(one[own], true)) {
        const marked = own === side && unit.tokens.includes(one.place);
        cell.append(marked ? element("mark", "", unit.label) : unit.label, " ");
      }
      row.append(cell);
    }
    made.append(row);
  }
  return made;
}
