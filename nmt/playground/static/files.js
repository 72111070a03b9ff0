// @ts-check
/** Files that the page saves, and those that people give it. */

/** @param {string} name @param {BlobPart} content @param {string} type */
export function save(name, content, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Ask for a file. @param {string} suffix of its name @param {(name: string, content: Uint8Array) => void} take */
export function open(suffix, take) {
  const input = document.createElement("input");
  input.type = "file";
  input.accept = suffix;
  input.addEventListener("change", async () => {
    const file = input.files?.[0];
    if (file) take(file.name, new Uint8Array(await file.arrayBuffer()));
  });
  input.click();
}
