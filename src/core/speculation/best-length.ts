/**
 * The number of drafted tokens k, 0 to `longest`, that gives most tokens for its time. With an acceptance rate of a, the
 * i-th of them is accepted with probability aⁱ, so a step gives 1 + a + … + aᵏ tokens (Leviathan et al., 2023); it takes
 * `timeOf(k)`.
 */
export function bestLength(acceptance: number, timeOf: (k: number) => number, longest: number): number {
  let best = 0;
  let most = 1 / timeOf(0);
  let tokens = 1;
  for (let k = 1; k <= longest; k++) {
    tokens += acceptance ** k;
    const perTime = tokens / timeOf(k);
    if (perTime <= most) continue;
    most = perTime;
    best = k;
  }
  return best;
}
