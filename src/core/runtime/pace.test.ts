import { expect, it } from 'vitest';
import { Pace } from './pace.ts';

function paceAfter(rows: number, ...elsewhere: readonly number[]): Pace {
  const pace = new Pace(rows);
  for (const ms of elsewhere) pace.ranElsewhere(ms);
  return pace;
}

/** Passes of so many milliseconds on the loop until it is left; at most 100. */
function triedUntilLeft(pace: Pace, ms: number): number {
  let passes = 0;
  for (; pace.isShort && passes < 100; passes++) pace.ranHere(ms);
  return passes;
}

it.each([1, 8])('%i rows are long until measured', (rows) => {
  expect(new Pace(rows).isShort).toBe(false);
  expect(paceAfter(rows, 12).isShort).toBe(false);
});

it.each([1, 8])('%i rows are tried on the loop once they took little elsewhere, whatever others took', (rows) => {
  expect(paceAfter(rows, 1.5, 12).isShort).toBe(true);
  expect(paceAfter(rows, 12, 6.3).isShort).toBe(true);
});

it.each([
  [1, [7.6, 7.5, 9, 7.4, 7.6, 60, 7.6]],
  [8, [4.6, 4.5, 6, 4.4, 4.6, 60, 4.6]],
])('%i rows stay on the loop while they are short in the mean, whatever one takes', (rows, passes) => {
  const pace = paceAfter(rows, 6.3);
  for (const ms of passes) pace.ranHere(ms);
  expect(pace.isShort).toBe(true);
});

it.each([
  [1, 6.5, 100],
  [1, 10, 6],
  [8, 4.6, 100],
  [8, 6.5, 5],
])('%i rows of %d ms leave the loop after %i passes, and are tried again after 200 others', (rows, ms, passes) => {
  const pace = paceAfter(rows, 7);
  expect(triedUntilLeft(pace, ms)).toBe(passes);
  if (passes === 100) return;
  for (let i = 0; i < 199; i++) pace.ranElsewhere(7);
  expect(pace.isShort).toBe(false);
  pace.ranElsewhere(7);
  expect(pace.isShort).toBe(true);
});
