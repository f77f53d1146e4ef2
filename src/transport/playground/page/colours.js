const SEQUENCES = 12;

/** The page's colours, as the style sheet has them in the present scheme. */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  /** @param {string} name */
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const sequences = Array.from({ length: SEQUENCES }, (_, i) => colour(`sequence-${i}`));
  return {
    text: colour('text'),
    quiet: colour('quiet'),
    panel: colour('panel'),
    line: colour('line'),
    free: colour('free'),
    bad: colour('bad'),
    /** The same for a sequence in every picture. @param {number} sequence */
    of: (sequence) => sequences[sequence % SEQUENCES] ?? '',
  };
}

/** @param {() => void} listener */
export function onSchemeChange(listener) {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', listener);
}
