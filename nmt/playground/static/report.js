// @ts-check
/** An experiment as one HTML file that needs nothing else: settings, curves, and the matrices as they are now. */

import { drawing } from "../../page/static/drawing.js";
import { element } from "../../page/static/elements.js";
import { COMMON, labelOf } from "./settings.js";

/** @import { Chosen, Control } from "./settings.js" */

const STYLE = `
  body { font: 16px/1.5 system-ui, sans-serif; color: #1a2233; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
  table { border-collapse: collapse; margin: 0.5rem 0 1rem; }
  th { text-align: left; font-weight: 500; color: #566076; padding-right: 1.5rem; }
  td { padding-right: 1rem; }
  svg { max-width: 100%; height: auto; }
  section { break-inside: avoid; }
  p { overflow-wrap: anywhere; }
  mark { background: none; font-weight: bold; text-decoration: underline wavy; }
`;

/** @param {Chosen} chosen @param {string[]} facts a line each @param {Element} charts
 * @param {HTMLElement[][]} models what is said of each */
export function report(chosen, facts, charts, models) {
  const task = labelOf(COMMON[0], chosen.task);
  const page = document.implementation.createHTMLDocument(`Attention, trained to ${task}`);
  page.documentElement.lang = "en";
  const encoding = page.createElement("meta");
  encoding.setAttribute("charset", "utf-8");
  page.head.prepend(encoding);
  const lines = facts.map((fact) => element("p", "", fact));
  const main = element("main");
  main.append(element("h1", "", page.title), ...lines, table(COMMON, chosen), charts);
  page.body.append(main);
  for (const parts of models) {
    const section = element("section");
    section.append(...parts);
    main.append(section);
  }
  // The style comes last: the content security policy of this page allows no element that has one.
  return new XMLSerializer().serializeToString(page).replace("</head>", `<style>${STYLE}</style></head>`);
}

/** What controls are set to. @param {Control[]} controls @param {object} values */
export function table(controls, values) {
  const made = element("table");
  for (const control of controls) {
    const row = element("tr");
    const value = String(/** @type {any} */ (values)[control.name]);
    row.append(element("th", "", control.label), element("td", "", labelOf(control, value)));
    made.append(row);
  }
  return made;
}

/** Pictures in the colours of paper, whatever the page's own are. @param {Element} place */
export function pictures(place) {
  const root = document.documentElement;
  const theme = root.dataset.theme;
  root.dataset.theme = "light";
  const made = element("div");
  made.append(...[...place.querySelectorAll("svg")].map(drawing));
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  return made;
}
