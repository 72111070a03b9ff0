// @ts-check
/** View 6: a test set. Its sentences with each model's scores, BLEU by length, and one sentence at a time in full. */

import { ask } from "./api.js";
import { chart } from "./chart.js";
import { element, keepingFocus, note, scrolling } from "./elements.js";
import { heatMap } from "./heat.js";
import { saveButtons } from "./save.js";
import { bucketOf, ordered, orders } from "./sort.js";
import { differing } from "./tokens.js";

const AT_ONCE = 20;
const NONE = "Start nmt serve with --test-set SOURCE REFERENCE, two files, and their sentences appear here.";

/** @param {HTMLElement} place @param {import("./state.js").State} state @param {any} actions @param {AbortSignal} signal @param {any[]} models */
export async function showSet(place, state, actions, signal, models) {
  const sets = await ask("/api/sets", undefined, signal);
  const own = sets.find((/** @type {any} */ set) => set.id === state.set) ?? sets[0];
  if (!own) return note(place, NONE);
  let progress = await ask(`/api/sets/${own.id}`, undefined, signal);
  const asked = models.filter(({ id }) => progress.models.some((/** @type {any} */ one) => one.id === id));
  const bar = element("div", "bar");
  const body = element("div", "runs");
  const summary = scrolling("Scores");
  const figure = element("div", "charts");
  const opened = element("div", "runs");
  opened.setAttribute("aria-live", "polite");
  const list = scrolling("Sentences");
  body.append(summary, figure, opened, list);
  place.replaceChildren(bar, body);
  const shown = { metric: state.metric, order: state.order, bucket: state.bucket, line: state.line };

  /** @param {string} name @param {[string, string][]} values @param {string} value @param {(value: string) => void} chosen */
  function choice(name, values, value, chosen) {
    const select = document.createElement("select");
    select.append(...values.map(([key, text]) => new Option(text, key)));
    select.value = values.some(([key]) => key === value) ? value : values[0][0];
    select.addEventListener("change", () => chosen(select.value));
    const label = element("label", "", `${name} `);
    label.append(select);
    return label;
  }
  const change = (/** @type {object} */ changes) => {
    Object.assign(shown, changes);
    actions.remember(shown);
    draw();
  };
  const metrics = /** @type {[string, string][]} */ ([
    ["chrf", "chrF"],
    ["bleu", "BLEU"],
    ["missing", "missing words"],
    ["added", "added words"],
  ]);
  if (sets.length > 1)
    bar.append(
      choice(
        "Test set",
        sets.map((/** @type {any} */ set) => [set.id, set.name]),
        own.id,
        (set) => actions.change({ set, line: null, bucket: null }, false),
      ),
    );
  else bar.append(element("span", "", own.name));
  bar.append(
    choice("Score", metrics, shown.metric, (metric) => change({ metric })),
    choice("Order", orders(asked), shown.order, (order) => change({ order })),
    saveButtons(() => body, "test-set"),
  );

  /** @type {any} */
  let table = { source: [], reference: [], lengths: [], models: [] };
  let most = AT_ONCE;

  const draw = () => keepingFocus(drawAll);

  function drawAll() {
    drawSummary(summary, progress, models);
    drawFigure();
    drawList();
    drawOpened();
  }

  function drawFigure() {
    /** @type {any[]} */
    const done = progress.models.filter((/** @type {any} */ one) => one.summary);
    figure.hidden = !done.some(({ summary }) => summary.bleu !== null);
    if (figure.hidden) return;
    const buckets = done[0].summary.by_length;
    figure.replaceChildren(
      chart({
        title: `BLEU by source length${progress.lowercase ? " (lower-cased)" : ""}, with 95 % intervals`,
        x: "words of the source: choose a point to see its sentences",
        ticks: (place) => nameOf(buckets[place]),
        series: done.map((/** @type {any} */ one) => ({
          name: nameOfModel(one.id),
          colour: models.findIndex((model) => model.id === one.id),
          points: one.summary.by_length.flatMap((/** @type {any} */ bucket, /** @type {number} */ place) =>
            bucket.bleu !== null
              ? {
                  x: place,
                  y: bucket.bleu,
                  low: bucket.ci_low,
                  high: bucket.ci_high,
                  id: `point-${one.id}-${place}`,
                  text: `${nameOfModel(one.id)}, ${nameOf(bucket)} words: BLEU ${bucket.bleu.toFixed(1)}, ${bucket.count} sentences`,
                  open: () => change({ bucket: shown.bucket === place ? null : place, line: null }),
                }
              : [],
          ),
        })),
      }),
    );
  }

  function drawList() {
    const buckets = progress.models.find((/** @type {any} */ one) => one.summary)?.summary.by_length ?? [];
    const bucket = shown.bucket === null ? null : (buckets[shown.bucket] ?? null);
    const lines = ordered(table, shown.metric, shown.order).filter(
      (line) => bucket === null || bucketOf(table.lengths[line], buckets) === shown.bucket,
    );
    const scored = table.models;
    const grid = element("table", "list");
    const head = element("tr");
    for (const name of ["sentence", "words", ...scored.map((/** @type {any} */ one) => nameOfModel(one.id))])
      head.append(element("th", "", name));
    grid.append(head);
    for (const line of lines.slice(0, most)) {
      const row = element("tr", line === shown.line ? "chosen" : "");
      const open = /** @type {HTMLButtonElement} */ (element("button", "word", table.source[line]));
      open.type = "button";
      open.id = `sentence-${line}`;
      open.setAttribute("aria-expanded", String(line === shown.line));
      open.addEventListener("click", () => {
        change({ line: line === shown.line ? null : line });
        opened.scrollIntoView({ block: "nearest" });
      });
      const name = element("td");
      name.append(open);
      row.append(name, element("td", "number", String(table.lengths[line])));
      for (const one of scored) row.append(element("td", "number", valueOf(one[shown.metric][line], shown.metric)));
      grid.append(row);
    }
    const count = element("p", "hint", `${lines.length} of ${table.source.length} sentences`);
    if (bucket) {
      count.textContent += `, those of ${nameOf(bucket)} words`;
      const all = /** @type {HTMLButtonElement} */ (element("button", "quiet", "All lengths"));
      all.type = "button";
      all.addEventListener("click", () => change({ bucket: null }));
      count.append(" ", all);
    }
    list.replaceChildren(count, grid);
    if (lines.length > most) {
      const more = /** @type {HTMLButtonElement} */ (element("button", "quiet", "Show more"));
      more.type = "button";
      more.id = "more";
      more.addEventListener("click", () => ((most += 4 * AT_ONCE), keepingFocus(drawList)));
      list.append(more);
    }
  }

  let drawn = { line: -1, table };
  async function drawOpened() {
    const line = shown.line;
    if (line === null || line >= table.source.length) {
      drawn = { line: -1, table };
      return opened.replaceChildren();
    }
    if (line === drawn.line && table === drawn.table) return;
    const opening = (drawn = { line, table });
    opened.replaceChildren(inFull(table, line, nameOfModel, actions));
    try {
      const looks = await ask(`/api/sets/${own.id}/sentences/${line}`, undefined, signal);
      if (opening !== drawn) return;
      opened.append(attentions(looks, nameOfModel));
    } catch (error) {
      if (/** @type {Error} */ (error).name !== "AbortError")
        opened.append(element("p", "hint", /** @type {Error} */ (error).message));
    }
  }
  const nameOfModel = (/** @type {string} */ id) => models.find((model) => model.id === id)?.name ?? id;

  let before = -1;
  while (!signal.aborted) {
    const done = progress.models.filter((/** @type {any} */ one) => one.summary).length;
    if (done > before) table = await ask(`/api/sets/${own.id}/sentences`, undefined, signal);
    if (done > before) draw();
    else drawSummary(summary, progress, models);
    before = done;
    if (progress.models.every((/** @type {any} */ one) => one.summary || one.error)) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
    progress = await ask(`/api/sets/${own.id}`, undefined, signal);
  }
}

/** A score, or a number of words, which may not be counted. @param {number | null} value @param {string} metric */
function valueOf(value, metric) {
  return value === null ? "–" : value.toFixed(metric === "missing" || metric === "added" ? 0 : 1);
}

/** @param {any} bucket */
function nameOf({ low, high }) {
  return high === null ? `${low}+` : `${low}–${high}`;
}

/** @param {HTMLElement} place @param {any} progress @param {any[]} models */
function drawSummary(place, progress, models) {
  const table = element("table", "list");
  const head = element("tr");
  const lower = progress.lowercase ? ", lower-cased" : "";
  for (const name of ["model", `BLEU${lower}`, `chrF${lower}`, ...(progress.aligned ? ["alignment error rate"] : [])])
    head.append(element("th", "", name));
  table.append(head);
  progress.models.forEach((/** @type {any} */ one) => {
    const place = models.findIndex((model) => model.id === one.id);
    const row = element("tr", `series-${place}`);
    const name = element("td", "", models[place]?.name ?? one.id);
    name.prepend(element("span", "swatch"));
    row.append(name);
    if (one.summary) {
      const { bleu, chrf, error_rate: rate } = one.summary;
      row.append(element("td", "number", bleu?.toFixed(2) ?? "–"), element("td", "number", chrf.toFixed(2)));
      if (progress.aligned)
        row.append(element("td", "number", rate === null ? "no attention" : `${(100 * rate).toFixed(1)} %`));
    } else if (one.error) row.append(element("td", "", one.error));
    else row.append(working(one.done, progress.sentences));
    table.append(row);
  });
  place.replaceChildren(table);
  if (progress.models.some((/** @type {any} */ { summary }) => summary && summary.bleu === null))
    place.append(element("p", "hint", "BLEU is undefined here, since no reference has four words: see chrF."));
}

/** @param {number} done @param {number} all */
function working(done, all) {
  const cell = /** @type {HTMLTableCellElement} */ (element("td"));
  cell.colSpan = 3;
  const bar = document.createElement("progress");
  Object.assign(bar, { max: all, value: done });
  bar.setAttribute("aria-label", `${done} of ${all} sentences`);
  cell.append(bar, ` ${done} of ${all} sentences`);
  return cell;
}

/** One sentence with all its translations. @param {any} table @param {number} line @param {(id: string) => string} name @param {any} actions */
function inFull(table, line, name, actions) {
  const box = element("section", "column");
  const reference = table.reference[line];
  const go = /** @type {HTMLButtonElement} */ (element("button", "quiet close", "Watch it being translated"));
  go.type = "button";
  go.addEventListener("click", () =>
    actions.change({ view: "attention", text: table.source[line], prefix: [], forced: [], step: 0 }, true),
  );
  box.append(go, element("h2", "", `Sentence ${line + 1}`));
  const lines = element("table", "samples");
  const put = (/** @type {string} */ head, /** @type {(string | Node)[]} */ ...content) => {
    const row = element("tr");
    const cell = element("td");
    cell.append(...content);
    row.append(element("th", "", head), cell);
    lines.append(row);
  };
  put("source", table.source[line]);
  put("reference", reference);
  for (const one of table.models) {
    const words = one.hypotheses[line].split(" ");
    const lower = (/** @type {string} */ text) => text.toLowerCase().split(" ");
    const different = differing(lower(one.hypotheses[line]), lower(reference));
    const marked = words.flatMap((/** @type {string} */ word, /** @type {number} */ i) => [
      different.has(i) ? element("ins", "", word) : word,
      " ",
    ]);
    const scores = `chrF ${one.chrf[line].toFixed(1)}, BLEU ${one.bleu[line].toFixed(1)}`;
    put(name(one.id), ...marked, element("span", "number", scores));
  }
  box.append(lines);
  return box;
}

/** @param {any} looks @param {(id: string) => string} name */
function attentions(looks, name) {
  const columns = element("div", "columns");
  const units = (/** @type {string[]} */ words) => words.map((label) => ({ label, kind: "word" }));
  for (const one of looks.models) {
    if (!one.weights.length || !one.weights[0].length) continue;
    const box = element("section", "column");
    const rate = one.error_rate === null ? "" : `, alignment error rate ${(100 * one.error_rate).toFixed(1)} %`;
    box.append(
      element("h3", "", name(one.id)),
      element("p", "number", `attention while it writes the reference${rate}`),
    );
    const scroll = scrolling(`Attention of ${name(one.id)} to the reference`);
    heatMap(scroll, {
      source: units(looks.source),
      target: units(looks.reference),
      matrix: one.weights,
      most: 22,
      sure: looks.sure,
      possible: looks.possible,
    });
    box.append(scroll);
    columns.append(box);
  }
  return columns;
}
