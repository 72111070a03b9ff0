// @ts-check
/** Random numbers that a seed decides. */

/** A generator of numbers in [0, 1): the 32-bit hash of a counter (Steele et al. 2014's mixing).
 * @param {number} seed @returns {() => number} */
export function uniform(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** A generator for one purpose and number of a seed, such as a batch. @param {number[]} parts */
export function generatorOf(...parts) {
  let seed = 0;
  for (const part of parts) seed = Math.floor(uniform((seed ^ Math.imul(part + 1, 0x85ebca6b)) >>> 0)() * 2 ** 32);
  return uniform(seed);
}

/** A number from N(0, 1) (Box and Muller 1958). @param {() => number} random */
export function normal(random) {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
