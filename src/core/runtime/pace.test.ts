import { expect, it } from 'vitest';
import { Pace } from './pace.ts';

function paceAfter(...elsewhere: readonly number[]): Pace {
  const pace = new Pace();
  for (const ms of elsewhere) pace.ranElsewhere(ms);
  return pace;
}

it('is long until measured', () => {
  expect(new Pace().isShort).toBe(false);
  expect(paceAfter(12).isShort).toBe(false);
});

it('is tried on the loop once one elsewhere took little, whatever others took', () => {
  expect(paceAfter(1.5, 12).isShort).toBe(true);
  expect(paceAfter(12, 6.3).isShort).toBe(true);
});

it('stays on the loop while passes there are short in the mean, whatever one takes', () => {
  const pace = paceAfter(6.3);
  for (const ms of [4.6, 4.5, 6, 4.4, 4.6, 60, 4.6]) {
    pace.ranHere(ms);
    expect(pace.isShort).toBe(true);
  }
});

it('leaves the loop after a few passes that are not, and is tried again after 200 others', () => {
  const pace = paceAfter(7);
  let tried = 0;
  for (; pace.isShort; tried++) pace.ranHere(6.5);
  expect(tried).toBe(5);
  for (let i = 0; i < 199; i++) pace.ranElsewhere(7);
  expect(pace.isShort).toBe(false);
  pace.ranElsewhere(7);
  expect(pace.isShort).toBe(true);
});
