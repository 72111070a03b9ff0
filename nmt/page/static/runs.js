// @ts-check
/** View 7: what runs of training measure, live: curves over each other, sample translations, settings. */

import { ask } from "./api.js";
import { chart, shown } from "./chart.js";
import { element, keepingFocus, labelled, note, scrolling } from "./elements.js";
import { saveButtons } from "./save.js";

const MOST = 8;
const BUSY = 5000; // milliseconds until a busy server is asked again
const COLUMNS = ["update", "training loss", "validation loss", "best BLEU", "learning rate", "tokens/s", ""];
/** @typedef {{id: string, name: string, changed: number}} Run */

/** @param {HTMLElement} place @param {import("./state.js").State} state @param {any} actions @param {AbortSignal} signal */
export async function showRuns(place, state, actions, signal) {
  /** @type {Run[]} */
  let runs = await ask("/api/runs", undefined, signal);
  let chosen = state.runs ?? runs.slice(0, 3).map((run) => run.id);
  chosen = chosen.filter((id) => runs.some((run) => run.id === id));
  /** @type {Map<string, any[]>} */
  const events = new Map();
  /** @type {Map<string, Record<string, string>>} */
  const settings = new Map();
  const bar = element("div", "bar");
  const body = element("div", "runs");
  const list = scrolling("Runs");
  const curves = element("div", "charts");
  const samples = element("div");
  const config = element("div");
  body.append(list, curves, samples, config);
  const hint = element("p", "hint");
  bar.append(
    hint,
    saveButtons(() => body, "runs"),
  );
  place.replaceChildren(bar, body);

  /** @type {EventSource | undefined} */
  let source;
  signal.addEventListener("abort", () => source?.close());
  // A browser opens six connections to a server, for all its tabs together.
  document.addEventListener("visibilitychange", () => (document.hidden ? source?.close() : follow()), { signal });
  function follow() {
    source?.close();
    if (signal.aborted) return;
    const own = (source = new EventSource(`/api/runs/events?${new URLSearchParams(chosen.map((id) => ["run", id]))}`));
    own.addEventListener("open", () => (hint.textContent = "Curves grow while a run trains."));
    own.addEventListener("runs", ({ data }) => {
      runs = JSON.parse(data);
      keepingFocus(drawList);
    });
    own.addEventListener("metrics", ({ data }) => {
      const { run, begins, events: more } = JSON.parse(data);
      events.set(run, begins ? more : [...(events.get(run) ?? []), ...more]);
      draw();
    });
    own.addEventListener("error", () => {
      const isTrying = own.readyState !== EventSource.CLOSED; // the browser itself asks again
      const state = isTrying ? "does not answer" : "is busy";
      hint.textContent = `The server ${state}. This page asks again until there is an answer.`;
      if (!isTrying) setTimeout(() => own === source && follow(), BUSY);
    });
  }

  /** @param {string} id @param {boolean} wanted */
  async function choose(id, wanted) {
    chosen = wanted ? [...chosen, id].slice(-MOST) : chosen.filter((one) => one !== id);
    actions.remember({ runs: chosen });
    follow();
    draw();
    await drawSettings();
  }

  function drawList() {
    if (!runs.length) return note(list, "There is no training run yet. Start one with nmt train, and it appears here.");
    const table = element("table", "list");
    const head = element("tr");
    for (const name of ["run", ...COLUMNS]) head.append(element(name ? "th" : "td", "", name));
    table.append(head);
    for (const run of runs) {
      const row = element("tr");
      row.dataset.run = run.id;
      const box = document.createElement("input");
      box.type = "checkbox";
      box.id = `run-${run.id}`;
      box.addEventListener("change", () => choose(run.id, box.checked));
      const name = element("td");
      const label = labelled(run.name, box);
      label.prepend(element("span", "swatch"));
      name.append(label);
      row.append(name, ...COLUMNS.map(() => element("td", "number")));
      table.append(row);
    }
    list.replaceChildren(table);
    draw();
  }

  function draw() {
    for (const row of /** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll("tr[data-run]"))) {
      const id = row.dataset.run ?? "";
      const at = chosen.indexOf(id);
      row.className = at < 0 ? "" : `series-${at}`;
      /** @type {HTMLInputElement} */ (row.querySelector("input")).checked = at >= 0;
      const values = at < 0 ? [] : latest(events.get(id) ?? []);
      row.querySelectorAll("td.number").forEach((cell, i) => (cell.textContent = values[i] ?? ""));
    }
    const shownRuns = chosen.map((id, colour) => ({
      name: runs.find((run) => run.id === id)?.name ?? id,
      colour,
      events: events.get(id) ?? [],
    }));
    const of = (/** @type {string} */ kind, /** @type {string} */ field, dashed = false) =>
      shownRuns.map(({ name, colour, events: own }) => ({
        name: dashed ? `${name}, validation` : name,
        colour,
        dashed,
        points: own
          .filter((event) => event.event === kind && typeof event[field] === "number")
          .filter((event) => field !== "bleu" || event.chrf === undefined) // its BLEU is undefined
          .map((event) => ({ x: event.update, y: event[field] })),
      }));
    const x = "update";
    const [bleu, undefinedIn] = ["bleu", "chrf"].map((field) =>
      of("validation", field).filter(({ points }) => points.length),
    );
    curves.replaceChildren(
      chart({
        title: "Loss in nats per token (dashed: validation)",
        x,
        series: [...of("train", "loss"), ...of("validation", "loss", true)],
      }),
      ...(bleu.length || !undefinedIn.length ? [chart({ title: "BLEU on the validation set", x, series: bleu })] : []),
      ...(undefinedIn.length ? [chart({ title: "chrF where BLEU is undefined", x, series: undefinedIn })] : []),
      chart({ title: "Learning rate", x, series: of("train", "learning_rate"), zero: true }),
      chart({ title: "Target tokens per second", x, series: of("train", "target_tokens_per_second"), zero: true }),
    );
    drawSamples(samples, shownRuns);
  }

  async function drawSettings() {
    for (const id of chosen)
      if (!settings.has(id)) settings.set(id, (await ask(`/api/runs/${id}`, undefined, signal)).config);
    const columns = chosen.map((id) => ({
      name: runs.find((run) => run.id === id)?.name ?? id,
      values: settings.get(id) ?? {},
    }));
    drawDifferences(config, columns);
  }
  drawList();
  follow();
  await drawSettings();
}

/** What stands in a run's row. @param {any[]} events */
function latest(events) {
  const of = (/** @type {string} */ kind) => events.filter((event) => event.event === kind);
  const [train, validation, end] = [of("train"), of("validation"), of("end")].map((found) => found[found.length - 1]);
  const best = (/** @type {string} */ field) =>
    Math.max(...of("validation").map((event) => event[field] ?? 0)).toFixed(2);
  return [
    shown(events[events.length - 1]?.update),
    shown(train?.loss),
    shown(validation?.loss),
    validation?.chrf !== undefined ? `– (chrF ${best("chrf")})` : validation ? best("bleu") : "–",
    shown(train?.learning_rate),
    shown(train?.target_tokens_per_second),
    end ? `ended: ${end.reason}` : "",
  ];
}

/** @param {HTMLElement} place @param {{name: string, colour: number, events: any[]}[]} runs */
function drawSamples(place, runs) {
  const last = runs.map(({ events }) => events.filter((event) => event.examples).slice(-1)[0]);
  place.replaceChildren();
  const sources = new Map(last.flatMap((event) => event?.examples ?? []).map((one) => [one.source, one.reference]));
  if (!sources.size) return;
  place.append(element("h2", "", "Sample translations, from the latest validation"));
  const scroll = scrolling("Sample translations");
  const table = element("table", "samples");
  for (const [source, reference] of sources) {
    table.append(line("source", source, "first"), line("reference", reference));
    runs.forEach(({ name, colour }, i) => {
      const said = last[i]?.examples.find((/** @type {any} */ one) => one.source === source)?.hypothesis;
      if (said !== undefined) table.append(line(`${name}, update ${shown(last[i].update)}`, said, `series-${colour}`));
    });
  }
  scroll.append(table);
  place.append(scroll);
}

/** @param {string} name @param {string} text @param {string} [kind] */
function line(name, text, kind = "") {
  const row = element("tr", kind);
  const head = element("th", "", name);
  if (kind.startsWith("series")) head.prepend(element("span", "swatch"));
  row.append(head, element("td", "", text));
  return row;
}

/** @param {HTMLElement} place @param {{name: string, values: Record<string, string>}[]} runs */
function drawDifferences(place, runs) {
  place.replaceChildren();
  if (!runs.length) return;
  const only = document.createElement("input");
  only.type = "checkbox";
  only.checked = runs.length > 1;
  only.disabled = runs.length === 1;
  const scroll = scrolling("Settings");
  const fill = () => {
    const table = element("table", "settings-table");
    const head = element("tr");
    for (const name of ["setting", ...runs.map((run) => run.name)]) head.append(element("th", "", name));
    table.append(head);
    for (const name of [...new Set(runs.flatMap(({ values }) => Object.keys(values)))]) {
      const values = runs.map((run) => written(run.values[name]));
      const differ = new Set(values).size > 1;
      if (only.checked && !differ) continue;
      const row = element("tr", differ && !only.checked ? "chosen" : "");
      row.append(element("th", "", name), ...values.map((value) => element("td", "", value)));
      table.append(row);
    }
    scroll.replaceChildren(table);
  };
  only.addEventListener("change", fill);
  const bar = element("div", "bar");
  bar.append(element("h2", "", "Settings"), labelled("only those that differ", only));
  place.append(bar, scroll);
  fill();
}

/** @param {any} value */
function written(value) {
  if (value === undefined) return "";
  return value === null ? "null" : String(value);
}
