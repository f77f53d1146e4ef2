import { existsSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { opProfile } from './op-profile.ts';

it('leaves no folder where no runner was made', () => {
  let folder: string;
  {
    using profile = opProfile();
    folder = dirname(profile.profiling.prefix);
    expect(existsSync(folder)).toBe(true);
  }
  expect(existsSync(folder)).toBe(false);
});

it('leaves no folder where the profile cannot be read', () => {
  const { profiling } = opProfile();
  const file = `${profiling.prefix}_1.json`;
  writeFileSync(file, '[{');
  expect(() => profiling.onEnd(file)).toThrow(SyntaxError);
  expect(existsSync(dirname(file))).toBe(false);
});
