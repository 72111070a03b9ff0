// @ts-check
/** The page: one state, which the address holds; one question to the API for each change of it; and the views. */

import { ask, live, ownSentence, served } from "./ask.js";
import { showAttention } from "./attention.js";
import { element, keepingFocus, note } from "./elements.js";
import { showComparison } from "./compare.js";
import { exampleIn, inLanguage } from "./languages.js";
import { openMind } from "./mind.js";
import { showNeighbours } from "./neighbours.js";
import { showRuns } from "./runs.js";
import { showSet } from "./set.js";
import { copied, doubtsAbout, legendOf, showSaid, showTold } from "./said.js";
import { forcedOnto, fromAddress, replacedBy, toAddress } from "./state.js";
import { showSteps } from "./steps.js";
import { showTree } from "./tree.js";
import { isMark } from "./words.js";

/** @type {Record<string, string>} */
const VIEWS = {
  attention: "Attention",
  steps: "Step by step",
  beam: "Beam",
  ...(served && { compare: "Compare", neighbours: "Neighbours", set: "Test set", runs: "Runs" }),
};
/** Views that are about no sentence. @type {Record<string, (place: HTMLElement, state: any, actions: any, signal: AbortSignal, models: any[]) => Promise<void>>} */
const WHOLE = { set: showSet, runs: showRuns };
const isWhole = () => Object.hasOwn(WHOLE, state.view);
const PATIENCE = 3000; // milliseconds until a server that does not answer is asked again
const at = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const text = /** @type {HTMLTextAreaElement} */ (at("text"));
const model = /** @type {HTMLSelectElement} */ (at("model"));
const beam = /** @type {HTMLInputElement} */ (at("beam"));
const mind = /** @type {HTMLDialogElement} */ (at("mind"));

/** @type {any[]} */
let models = [];
const modelOf = (/** @type {string} */ id) => models.find((one) => one.id === id);
const firstSentence = (/** @type {string} */ id) => ownSentence ?? exampleIn(modelOf(id)?.source_language);
let state = fromAddress(firstSentence);
const NOTHING = { source: [], target: [], tokens: [], steps: [], tree: [], greedy: { tokens: [] } };
/** The answer to `found.question`. @type {any} */
let found = NOTHING;
const questionOf = ({ model, text, prefix, forced, beam } = state) => ({ model, text, prefix, forced, beam });
/** The question that was put last, unless it failed. */
let asked = "";
const isAsked = () => asked === JSON.stringify(questionOf());
/** Whether what is seen is about the sentence in the box, whose next answer may be on its way. */
const isCurrent = () => found.question?.text === state.text && found.question.model === state.model;
/** @type {AbortController | undefined} */
let asking;
/** @type {AbortController | undefined} */
let showing;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let pause; // until the model is asked

const actions = {
  /** @param {Partial<import("./state.js").State>} changes @param {boolean} again whether to ask the model again */
  change(changes, again) {
    state = { ...state, ...(again && { node: null }), ...changes }; // another answer has another tree
    history.pushState(null, "", toAddress(state));
    fillIn();
    if (again || (!isAsked() && !isWhole())) explain();
    else render();
  },
  /** Have the translation of the sentence that is seen begin with these tokens. @param {string[]} prefix */
  begin(prefix) {
    if (isCurrent()) actions.change({ prefix }, true);
  },
  /** A change that is no step back. @param {Partial<import("./state.js").State>} changes */
  remember(changes) {
    state = { ...state, ...changes };
    history.replaceState(null, "", toAddress(state));
  },
  /** @param {number} t */
  reconsider(t) {
    state = { ...state, mind: t };
    history.pushState({ opened: true }, "", toAddress(state));
    if (!document.body.classList.contains("busy")) renderMind(); // else the answer that is awaited opens it
  },
  forget() {
    if (mind.open || state.mind === null) return;
    if (history.state?.opened) history.back();
    else actions.remember({ mind: null });
  },
  /** @param {number} t @param {string} token */
  replace(t, token) {
    if (!isCurrent()) return;
    actions.change({ ...replacedBy(state, found.tokens, t, token), step: t, mind: null }, true);
  },
  /** A word that was typed may be several tokens: the model's own tokenizer says which. @param {number} t @param {string} word */
  async type(t, word) {
    const [own, { model, text }] = [found, state];
    try {
      const read = await ask("/api/read", { model, text, target: word });
      if (own !== found || model !== state.model || text !== state.text) return; // it was about another sentence
      const tokens = read.tokens.filter((/** @type {string} */ token) => token !== "<eos>");
      const end = isMark(tokens[0]) && isMark(own.tokens[t - 1]) ? t - 1 : t; // one mark of case is enough
      const prefix = [...own.tokens.slice(0, end), ...tokens];
      const forced = state.forced.filter(([step]) => step <= t);
      if (tokens.length) actions.change({ prefix, forced, step: t, mind: null }, true);
    } catch (error) {
      say(/** @type {Error} */ (error).message);
    }
  },
  /** @param {number} t @param {number} s */
  force(t, s) {
    if (!isCurrent()) return;
    actions.change({ ...forcedOnto(state, t, s), step: t, mind: null }, true);
  },
};

async function explain() {
  clearTimeout(pause);
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  const question = questionOf();
  asked = JSON.stringify(question);
  document.body.classList.add("busy");
  try {
    const answer = await answerTo(question, signal);
    const own = modelOf(question.model);
    found = { ...answer, question, languages: [own.source_language, own.target_language] };
    say(doubtsAbout(found, own));
    inLanguage(at("heard"), own.target_language);
    at("heard").textContent = found.text;
  } catch (error) {
    if (/** @type {Error} */ (error).name === "AbortError") return;
    asked = "";
    found = NOTHING; // nothing of another sentence stays
    say(/** @type {Error} */ (error).message.replace(/^text: /, ""));
    if (/** @type {any} */ (error).isLost) pause = setTimeout(explain, PATIENCE);
  }
  document.body.classList.remove("busy");
  render();
}

/** @param {ReturnType<typeof questionOf>} question @param {AbortSignal} signal */
async function answerTo({ beam: size, ...question }, signal) {
  if (!modelOf(question.model)) throw new Error(`There is no model “${question.model}” here: choose one above.`);
  return ask("/api/explain", size === null ? question : { ...question, beam_size: size }, signal);
}

/** @param {string} message */
function say(message) {
  at("status").textContent = message;
}

function render() {
  keepingFocus(renderAll);
  renderMind();
}

function renderAll() {
  showSaid(at("said"), found, state, actions);
  showTold(at("told"), found, state, actions);
  at("hint").hidden = !found.steps.length;
  at("legend").textContent = legendOf(found);
  at("score").textContent = found.steps.length ? `score ${found.score.toFixed(3)}` : "";
  showing?.abort();
  showing = new AbortController();
  const { signal } = showing;
  const panel = at("panel");
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const chosen = tab.id === `tab-${state.view}`;
    tab.setAttribute("aria-selected", String(chosen));
    /** @type {HTMLElement} */ (tab).tabIndex = chosen ? 0 : -1;
  }
  panel.setAttribute("aria-labelledby", `tab-${state.view}`);
  const failed = (/** @type {any} */ error) => {
    if (signal.aborted) return;
    note(panel, error.message);
    if (error.isLost) setTimeout(() => signal.aborted || render(), PATIENCE);
  };
  const whole = isWhole() ? WHOLE[state.view] : undefined;
  /** @type {HTMLElement} */ (document.querySelector(".ask")).hidden = whole !== undefined;
  for (const control of [model, beam])
    /** @type {HTMLElement} */ (control.parentElement).hidden = whole !== undefined;
  if (whole) whole(panel, state, actions, signal, models).catch(failed);
  else if (!found.steps.length && at("status").textContent)
    panel.replaceChildren(); // it says why there is nothing
  else if (state.view === "steps") showSteps(panel, found, state, actions);
  else if (state.view === "beam") showTree(panel, found, state, actions);
  else if (state.view === "compare") showComparison(panel, found, state, actions, models, signal).catch(failed);
  else if (state.view === "neighbours") showNeighbours(panel, found, state, actions, models, signal).catch(failed);
  else showAttention(panel, found, state, actions);
}

/** What else was considered at a step, over the view. */
function renderMind() {
  if (state.mind === null || state.mind >= found.steps.length || isWhole()) mind.close();
  else openMind(mind, found, state.mind, state, actions);
}

function renderTabs() {
  const tabs = at("tabs");
  for (const [view, name] of Object.entries(VIEWS)) {
    const tab = /** @type {HTMLButtonElement} */ (element("button", "", name));
    tab.id = `tab-${view}`;
    tab.type = "button";
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", "panel");
    tab.addEventListener("click", () => view === state.view || actions.change({ view }, false));
    tabs.append(tab);
  }
  tabs.addEventListener("keydown", (event) => {
    const names = Object.keys(VIEWS);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const view = names[(names.indexOf(state.view) + step + names.length) % names.length];
    actions.change({ view }, false);
    at(`tab-${view}`).focus();
  });
}

function fillIn() {
  if (text.value !== state.text) text.value = state.text;
  model.value = state.model;
  const own = modelOf(state.model);
  inLanguage(text, own?.source_language);
  inLanguage(at("said"), own?.target_language);
  beam.value = String(state.beam ?? own?.beam_size ?? 5);
}

function themes() {
  const button = at("theme");
  const dark = () =>
    (document.documentElement.dataset.theme ??
      (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const name = () => (button.textContent = dark() ? "Light" : "Dark");
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("nmt-theme", document.documentElement.dataset.theme);
    } catch {
      // without storage the choice lasts until the page is closed
    }
    name();
  });
  name();
}

async function begin() {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let resized;
  themes();
  renderTabs();
  text.value = state.text;
  document.querySelector(".skip")?.addEventListener("click", (event) => (event.preventDefault(), at("panel").focus()));
  at("said").addEventListener("copy", (event) => {
    event.clipboardData?.setData("text/plain", copied(at("said"), found, getSelection()));
    event.preventDefault();
  });
  text.addEventListener("input", () => {
    clearTimeout(pause);
    state = { ...state, text: text.value, prefix: [], forced: [], step: 0, mind: null, node: null };
    pause = setTimeout(() => (history.replaceState(null, "", toAddress(state)), explain()), 120);
  });
  model.addEventListener("change", () => {
    const typed = state.text !== firstSentence(state.model);
    const chosen = { model: model.value, text: typed ? state.text : firstSentence(model.value) };
    actions.change({ ...chosen, prefix: [], forced: [], beam: null, mind: null }, true);
  });
  beam.addEventListener("change", () => {
    const size = Math.round(Number(beam.value));
    if (size >= 1 && size <= 50) actions.change({ beam: size }, true);
    else fillIn();
  });
  const follow = () => {
    state = fromAddress(firstSentence);
    if (!Object.hasOwn(VIEWS, state.view)) state.view = "attention";
    fillIn();
    if (isWhole() || isAsked()) render();
    else explain();
  };
  addEventListener("popstate", follow);
  addEventListener("resize", () => {
    clearTimeout(resized);
    if (state.view === "attention") resized = setTimeout(render, 200); // the lines are drawn for the room there is
  });
  addEventListener("busy", (event) => (at("busy").textContent = /** @type {CustomEvent} */ (event).detail));
  try {
    models = await ask("/api/models");
  } catch (error) {
    return say(/** @type {Error} */ (error).message);
  }
  if (!live) {
    text.readOnly = true;
    beam.disabled = true;
  }
  model.replaceChildren(...models.map((one) => new Option(one.name, one.id)));
  follow();
}

begin();
