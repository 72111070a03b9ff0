// @ts-check
/** Which part of the attention is shown: all heads or one of them, both levels or one of them. */

/** The parts that there are, each as in an address and as people call it. @param {any} found @returns {[string, string][]} */
export function partsOf(found) {
  const heads = found.steps[0].heads?.length ?? 1;
  /** @type {[string, string][]} */
  const parts = [["", heads > 1 ? "mean of all heads" : "both levels"]];
  for (let i = 1; heads > 1 && i <= heads; i++) parts.push([String(i), `head ${i}`]);
  if (new Set(found.segments).size > 1)
    parts.push(["sentence", "which sentence"], ["within", "which word of each sentence"]);
  return parts;
}

/** The part that an address names, if there is such a one. @param {[string, string][]} parts @param {string} wanted */
export function partOf(parts, wanted) {
  return parts.some(([part]) => part === wanted) ? wanted : "";
}

/** What chooses among them. @param {[string, string][]} parts @param {string} part @param {any} actions */
export function partChoice(parts, part, actions) {
  const select = document.createElement("select");
  select.id = "part";
  select.setAttribute("aria-label", "Which part of the attention");
  select.append(...parts.map(([value, name]) => new Option(name, value)));
  select.value = part;
  select.addEventListener("change", () => actions.change({ part: select.value }, false));
  return select;
}
