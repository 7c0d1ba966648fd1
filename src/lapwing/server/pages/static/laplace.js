// The law of integer Laplace noise: P(X = x) = tanh(1/2s) e^(-|x|/s), with scale s = sensitivity / epsilon.
// These formulas are compared with lapwing's own by a test.

export function pmf(x, scale) {
  return Math.tanh(1 / (2 * scale)) * Math.exp(-Math.abs(x) / scale);
}

/** The smallest m with P(|X| <= m) >= confidence. */
export function margin(scale, confidence = 0.95) {
  const c = Math.log(2 / (1 + Math.exp(-1 / scale)));
  return Math.max(Math.floor(scale * (c - Math.log(1 - confidence))), 0);
}

/** The noise that belongs to a number between 0 and 1: the smallest x with P(X <= x) >= u. */
export function noise(scale, u) {
  const below = Math.exp(-1 / scale) / (1 + Math.exp(-1 / scale)); // P(X <= -1)
  if (u <= below) return -Math.floor(scale * (Math.log(below) - Math.log(u))) - 1;
  if (u <= 1 - below) return 0;
  return Math.ceil(scale * (Math.log(below) - Math.log(1 - u)));
}

/** P(X - Y = d) for two independent draws. */
export function difference(d, scale) {
  const q = Math.exp(-1 / scale), size = Math.abs(d);
  return Math.tanh(1 / (2 * scale)) ** 2 * q ** size * (size + (1 + q * q) / (1 - q * q));
}

/** The smallest m with P(|X - Y| <= m) >= confidence, for two independent draws. */
export function marginOfDifference(scale, confidence = 0.95) {
  let within = difference(0, scale), m = 0;
  while (within < confidence) {
    m += 1;
    within += 2 * difference(m, scale);
  }
  return m;
}

/** A number between 0 and 1, from the browser's source of randomness. */
export function uniform() {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return ((high >>> 5) * 67108864 + (low >>> 6) + 0.5) / 9007199254740992;
}
