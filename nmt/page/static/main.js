// @ts-check
/** The page: one state, which the address holds; one question to the API for each change of it; and the views. */

import { ask, live, ownSentence, served } from "./api.js";
import { showAttention } from "./attention.js";
import { keepingFocus, note } from "./elements.js";
import { showComparison } from "./compare.js";
import { examplesIn, inLanguage, languageName } from "./languages.js";
import { themes } from "./theme_button.js";
import { openMind } from "./alternatives.js";
import { showDiagram } from "./diagram.js";
import { showModel } from "./model.js";
import { showNeighbours } from "./neighbours.js";
import { showRuns } from "./runs.js";
import { showSet } from "./test_set.js";
import { betterModel, copied, doubtsAbout, legendOf, showSaid, showTold } from "./hypothesis.js";
import { sentenceOf, showSentences } from "./sentences.js";
import { forcedOnto, fromAddress, replacedBy, termsOf, toAddress, writtenTerms } from "./state.js";
import { showSteps } from "./steps.js";
import { makeTabs, markTab } from "./tabs.js";
import { showTree } from "./tree.js";
import { isMark } from "./tokens.js";

/** @type {Record<string, string>} */
const VIEWS = {
  attention: "Attention",
  steps: "Step by step",
  beam: "Beam",
  model: "Model",
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
const glossary = /** @type {HTMLInputElement} */ (at("glossary"));
const words = /** @type {HTMLInputElement} */ (at("words"));
const examples = /** @type {HTMLSelectElement} */ (at("examples"));
const mind = /** @type {HTMLDialogElement} */ (at("mind"));

/** @type {any[]} */
let models = [];
const modelOf = (/** @type {string} */ id) => models.find((one) => one.id === id);
const firstSentence = (/** @type {string} */ id) => ownSentence ?? examplesIn(modelOf(id)?.source_language)[0] ?? "";
let state = fromAddress(firstSentence);
const NOTHING = { source: [], target: [], tokens: [], steps: [], tree: [], greedy: { tokens: [] } };
/** The answer to `found.question`. @type {any} */
let found = NOTHING;
const questionOf = ({ model, text, prefix, forced, beam, glossary } = state) => ({
  ...{ model, text, prefix, forced, beam },
  ...(glossary.length && { glossary }),
});
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
    history.replaceState(history.state, "", toAddress(state));
  },
  /** @param {number} t */
  reconsider(t) {
    state = { ...state, mind: t };
    history.pushState({ opened: true }, "", toAddress(state));
    if (isCurrent() && !document.body.classList.contains("busy")) renderMind(); // else the answer that is awaited opens it
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
    if (!isCurrent()) return;
    state = { ...state, mind: null }; // the dialog has been closed, and that is no step back
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
      actions.remember({});
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
  if (!models.length) return; // they are on their way
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  asked = JSON.stringify(questionOf());
  document.body.classList.add("busy");
  try {
    const part = await sentenceOf(state, modelOf(state.model) !== undefined, signal);
    if (signal.aborted) return;
    state = { ...state, ...part };
    const question = questionOf();
    asked = JSON.stringify(question);
    const answer = await answerTo(question, signal);
    if (signal.aborted) return;
    const own = modelOf(question.model);
    found = { ...answer, question, model: own, languages: [own.source_language, own.target_language] };
    const other = betterModel(found, own, models);
    say(`${doubtsAbout(found, own)}${other ? ` It seems to be ${languageName(found.language)}.` : ""}`);
    inLanguage(at("heard"), own.target_language);
    at("heard").textContent = found.text;
  } catch (error) {
    if (signal.aborted) return;
    asked = "";
    found = NOTHING; // nothing of another sentence stays
    at("heard").textContent = "";
    say(saidOf(error).replace(/^text: /, ""));
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

/** What is said of an error, which is followed by another attempt if the server was lost. @param {any} error */
const saidOf = (error) => (error.isLost ? `${error.message} This page asks again.` : error.message);

/** @param {string} message */
function say(message) {
  at("status").textContent = message;
}

function render() {
  keepingFocus(renderAll);
  renderMind();
}

function renderAll() {
  showSentences(at("sentences"), state, actions);
  showSaid(at("said"), found, state, actions);
  showTold(at("told"), found, state, actions);
  showDiagram(at("diagram"), modelOf(state.model), found, state, actions);
  const other = found.model && betterModel(found, found.model, models);
  at("switch").hidden = !other;
  at("switch").textContent = other ? `Translate with ${other.name} instead` : "";
  at("terms").textContent = termsOfUse(modelOf(state.model));
  at("hint").hidden = !found.steps.length;
  at("legend").textContent = legendOf(found, state.words);
  at("score").textContent = found.steps.length ? `score ${found.score.toFixed(3)}` : "";
  showing?.abort();
  showing = new AbortController();
  const { signal } = showing;
  const panel = at("panel");
  markTab(at("tabs"), state.view);
  panel.setAttribute("aria-labelledby", `tab-${state.view}`);
  const failed = (/** @type {any} */ error) => {
    if (signal.aborted) return;
    note(panel, saidOf(error));
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
  else if (state.view === "model" && modelOf(state.model)) showModel(panel, modelOf(state.model));
  else if (state.view === "beam") showTree(panel, found, state, actions);
  else if (state.view === "compare") showComparison(panel, found, state, actions, models, signal).catch(failed);
  else if (state.view === "neighbours") showNeighbours(panel, found, state, actions, models, signal).catch(failed);
  else showAttention(panel, found, state, actions);
}

/** @param {any} one */
const termsOfUse = (one) => (one?.terms ? `Model ${one.name}: ${one.terms}.` : "");

/** What else was considered at a step, over the view. */
function renderMind() {
  if (state.mind === null || state.mind >= found.steps.length || isWhole()) mind.close();
  else openMind(mind, found, state.mind, state, actions);
}

/** Sentences to choose from, in the language that the model reads. */
function showExamples() {
  const language = modelOf(state.model)?.source_language;
  const sentences = live ? examplesIn(language) : [];
  examples.hidden = !sentences.length;
  examples.replaceChildren(new Option("Examples …", ""), ...sentences.map((sentence) => new Option(sentence)));
  inLanguage(examples, language);
}

function fillIn() {
  const whole = state.whole || state.text;
  if (text.value !== whole) text.value = whole;
  model.value = state.model;
  const own = modelOf(state.model);
  inLanguage(text, own?.source_language);
  inLanguage(at("said"), own?.target_language);
  words.checked = state.words;
  if (JSON.stringify(termsOf(glossary.value)) !== JSON.stringify(state.glossary))
    glossary.value = writtenTerms(state.glossary);
  showExamples();
  beam.value = String(state.beam ?? own?.beam_size ?? 5);
}

/** Where the address leads. What has been answered already is not asked again. */
function follow() {
  const before = toAddress({ ...state, mind: null });
  state = fromAddress(firstSentence);
  if (!Object.hasOwn(VIEWS, state.view)) state.view = "attention";
  if (isAsked() && !isWhole() && toAddress({ ...state, mind: null }) === before) return renderMind();
  fillIn();
  if (isWhole() || isAsked()) render();
  else explain();
}

/** Lines are drawn for the room there is. */
function fitAgain() {
  let width = innerWidth;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let rest;
  addEventListener("resize", () => {
    clearTimeout(rest);
    if (innerWidth === width) return;
    rest = setTimeout(() => {
      width = innerWidth;
      if (state.view === "attention") keepingFocus(renderAll);
    }, 200);
  });
}

function begin() {
  themes();
  const show = (/** @type {string} */ view) => actions.change({ view }, false);
  makeTabs(at("tabs"), VIEWS, () => state.view, show);
  hideEmpty({ neighbours: true, set: true, runs: true });
  text.value = state.whole || state.text;
  document.querySelector(".skip")?.addEventListener("click", (event) => (event.preventDefault(), at("panel").focus()));
  at("said").addEventListener("copy", (event) => {
    event.clipboardData?.setData("text/plain", copied(at("said"), found, getSelection()));
    event.preventDefault();
  });
  text.addEventListener("input", () => {
    clearTimeout(pause);
    state = { ...state, text: text.value, whole: "", prefix: [], forced: [], step: 0, mind: null, node: null };
    pause = setTimeout(() => (actions.remember({}), explain()), 120);
  });
  at("glossary-row").hidden = !served;
  glossary.addEventListener("change", () => actions.change({ glossary: termsOf(glossary.value), prefix: [] }, true));
  words.addEventListener("change", () => actions.change({ words: words.checked }, false));
  examples.addEventListener("change", () => {
    const chosen = { text: examples.value, whole: "", prefix: [], forced: [], step: 0, mind: null };
    if (examples.value) actions.change(chosen, true);
  });
  model.addEventListener("change", () => {
    const typed = (state.whole || state.text) !== firstSentence(state.model);
    const chosen = { model: model.value, text: typed ? state.text : firstSentence(model.value) };
    actions.change({ ...chosen, prefix: [], forced: [], beam: null, mind: null }, true);
  });
  at("switch").addEventListener("click", () => {
    const other = betterModel(found, found.model, models);
    const asked = { text: found.question.text, prefix: [], forced: [], step: 0, beam: null, mind: null };
    if (other) actions.change({ ...asked, model: other.id }, true);
  });
  beam.addEventListener("change", () => {
    const size = Math.round(Number(beam.value));
    if (size >= 1 && size <= 50) actions.change({ beam: size }, true);
    else fillIn();
  });
  addEventListener("popstate", follow);
  fitAgain();
  addEventListener("busy", (event) => (at("busy").textContent = /** @type {CustomEvent} */ (event).detail));
  load();
}

/** Hide the tabs of views that have nothing to show, unless the address asks for one. @param {Record<string, boolean>} empty */
function hideEmpty(empty) {
  for (const [view, is] of Object.entries(empty)) {
    const tab = document.getElementById(`tab-${view}`);
    if (tab) tab.hidden = is && state.view !== view;
  }
}

async function load() {
  try {
    models = await ask("/api/models");
  } catch (error) {
    if (/** @type {any} */ (error).isLost) setTimeout(load, PATIENCE);
    return say(saidOf(error));
  }
  say("");
  if (!live) {
    text.readOnly = true;
    beam.disabled = true;
  }
  const offered = models.map((one) => Object.assign(new Option(one.name, one.id), { title: termsOfUse(one) }));
  model.replaceChildren(...offered);
  follow();
  if (!served) return;
  const listed = await Promise.all(["/api/sets", "/api/runs"].map((path) => ask(path).catch(() => [])));
  const [sets, runs] = listed.map(({ length }) => length);
  hideEmpty({ neighbours: !models.some(({ neighbours }) => neighbours), set: !sets, runs: !runs });
}

begin();
