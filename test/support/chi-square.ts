/** Probability of a chi-square of at least this, were the counts drawn from `expected`; cells under 5 are one cell. */
export function chiSquareP(counts: readonly number[], expected: readonly number[]): number {
  let statistic = 0;
  let cells = 0;
  let few = { count: 0, expected: 0 };
  const add = (count: number, mean: number) => {
    if (mean === 0 && count === 0) return;
    statistic += (count - mean) ** 2 / mean;
    cells += 1;
  };
  for (const [i, mean] of expected.entries()) {
    if (mean >= 5) add(counts[i]!, mean);
    else few = { count: few.count + counts[i]!, expected: few.expected + mean };
  }
  add(few.count, few.expected);
  return gammaQ((cells - 1) / 2, statistic / 2);
}

/** The regularized upper incomplete gamma function (Numerical Recipes, 6.2). */
function gammaQ(a: number, x: number): number {
  if (!Number.isFinite(x)) return 0;
  if (x <= 0) return 1;
  const scale = Math.exp(-x + a * Math.log(x) - logGamma(a));
  if (x < a + 1) {
    let term = 1 / a;
    let sum = term;
    for (let n = 1; n < 1000; n++) {
      term *= x / (a + n);
      sum += term;
    }
    return 1 - sum * scale;
  }
  let b = x + 1 - a;
  let c = 1e300;
  let d = 1 / b;
  let h = d;
  for (let i = 1; i < 1000; i++) {
    const an = -i * (i - a);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    h *= d * c;
  }
  return h * scale;
}

/** Lanczos' approximation. */
function logGamma(x: number): number {
  const coefficients = [
    76.18009172947146, -86.50532032941678, 24.01409824083091, -1.231739572450155, 1.208650973866179e-3,
    -5.395239384953e-6,
  ];
  const base = x + 5.5 - (x + 0.5) * Math.log(x + 5.5);
  const sum = coefficients.reduce((total, value, i) => total + value / (x + 1 + i), 1.000000000190015);
  return -base + Math.log((2.5066282746310007 * sum) / x);
}
