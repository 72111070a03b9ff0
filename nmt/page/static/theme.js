// Before anything is painted: the theme that was chosen here last, or else the system's.
try {
  const theme = localStorage.getItem("nmt-theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch {
  // without storage the system decides
}
