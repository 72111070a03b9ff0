// @ts-check
// A page that is opened as a file may load none of its parts. This one says so.
if (location.protocol === "file:")
  addEventListener("DOMContentLoaded", () => {
    const place = document.getElementById("status");
    if (place)
      place.textContent =
        "Browsers can load this page only from a web server. In its folder, run: python3 -m http.server";
  });
