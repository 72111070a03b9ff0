// @ts-check
/** Light or dark. What was chosen before, theme.js has set before anything is drawn. */

/** The button that changes it. */
export function themes() {
  const button = /** @type {HTMLElement} */ (document.getElementById("theme"));
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
