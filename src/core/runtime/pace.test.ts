import { expect, it } from 'vitest';
import { Pace } from './pace.ts';

it('is long until measured, then follows what passes take', () => {
  const pace = new Pace();
  expect(pace.isShort).toBe(false);
  pace.ranElsewhere(12);
  expect(pace.isShort).toBe(false);
  pace.ranElsewhere(1.5);
  pace.ranElsewhere(12);
  expect(pace.isShort).toBe(true);
  pace.ranHere(3);
  expect(pace.isShort).toBe(true);
  pace.ranHere(60);
  expect(pace.isShort).toBe(false);
});
