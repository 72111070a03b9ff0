// @ts-check
/** Experiments: what to set, what to do, and what is then seen. */

import { element } from "../../page/static/elements.js";

/** @typedef {{title: string, hash: string, says: string}} Experiment */

const ATTENTION = "bahdanau.additive.global";

/** @type {Experiment[]} */
export const EXPERIMENTS = [
  {
    title: "The diagonal appears",
    hash: `task=reverse&model=${ATTENTION}`,
    says: "Train, and watch the matrix: it is even at first, then a line from one corner to the other, each letter read when it is written. Move the slider to the moment when the loss begins to fall, and compare.",
  },
  {
    title: "Why attention",
    hash: `task=reverse&model=${ATTENTION}&model=none`,
    says: "Both models get the same batches. Train for 900 updates, and compare the exact matches by length: without attention, the whole word must fit into one vector of fixed size, and long words fail.",
  },
  {
    title: "Before or after the step",
    hash: `task=dates&model=${ATTENTION}&model=luong.additive.global`,
    says: "Bahdanau's query is the state before the step, Luong's the one after it. Look at the rows of the year: which model reads a digit in the row in which it writes it?",
  },
  {
    title: "A window that must find its place",
    hash: "task=reverse&model=luong.general.local_p.3&model=luong.general.global",
    says: "Local-p sees seven letters around a centre that it must predict, which begins in the middle. Watch the bright band tilt towards the other diagonal, and compare how many updates each needs.",
  },
  {
    title: "Where the window begins",
    hash: "task=pairs&model=luong.general.local_p.2&model=luong.general.local_diagonal.2",
    says: "German and English captions have nearly the same order of words. A centre that begins on the diagonal has little to learn; one that begins in the middle must first find the words. Compare BLEU after 300 updates.",
  },
  {
    title: "Dot with unequal sizes",
    hash: "task=reverse&encoder=16&model=luong.dot.global",
    says: "A memory vector has half as many elements as the decoder's state, and dot multiplies element by element: there is no model, and the page says what to change. Try both ways, and compare how soon each model is right.",
  },
  {
    title: "Too high a rate",
    hash: `task=reverse&rate=0.03&model=${ATTENTION}`,
    says: "The loss falls sooner than with a rate of 0.005, but then it jumps, and so do the exact matches. Watch the gradient norm, and compare both rates after 300 updates.",
  },
  {
    title: "Reading one's own mistakes",
    hash: `task=dates&forcing=0&model=${ATTENTION}`,
    says: "With teacher forcing at 0 the decoder reads what it has just written, also when that is wrong. Compare the first 100 updates with teacher forcing at 1: the loss falls later. Does it end lower?",
  },
];

/** All of them, as items of a list. @param {() => void} follow what a click on one does */
export const experiments = (follow) =>
  EXPERIMENTS.map(({ title, hash, says }) => {
    const item = element("li");
    const link = /** @type {HTMLAnchorElement} */ (element("a", "", title));
    link.href = `#${hash}`;
    link.addEventListener("click", follow);
    item.append(link, element("p", "", says));
    return item;
  });
