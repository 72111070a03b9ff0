// @ts-check
/** The service worker: what has been loaded once is kept, so that the page works without a network. */

// `nmt export` fills these in: another version is another cache.
const VERSION = "";
/** @type {string[]} */
const PAGE = []; // what is loaded before this worker watches

const scope = /** @type {any} */ (globalThis);
const PREFIX = `nmt ${scope.registration.scope} `;

scope.addEventListener("install", (/** @type {any} */ event) => {
  const keep = async () => {
    const cache = await caches.open(PREFIX + VERSION);
    await cache.addAll(PAGE.map((path) => new Request(path, { cache: "no-cache" })));
    await scope.skipWaiting();
  };
  event.waitUntil(keep());
});

scope.addEventListener("activate", (/** @type {any} */ event) => {
  const tidy = async () => {
    const others = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== PREFIX + VERSION);
    await Promise.all(others.map((name) => caches.delete(name)));
    await scope.clients.claim();
  };
  event.waitUntil(tidy());
});

scope.addEventListener("fetch", (/** @type {any} */ event) => {
  if (event.request.method === "GET" && event.request.url.startsWith(scope.registration.scope))
    event.respondWith(answer(event));
});

/** @param {any} event */
async function answer(event) {
  const cache = await caches.open(PREFIX + VERSION);
  const kept = await cache.match(event.request.url.replace(/index\.html(?=$|[?#])/, ""), { ignoreSearch: true });
  if (kept) return kept;
  const found = await fetch(event.request);
  if (found.status === 200) event.waitUntil(cache.put(event.request, found.clone()));
  return found;
}
