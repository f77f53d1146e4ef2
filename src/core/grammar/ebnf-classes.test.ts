import { expect, it } from 'vitest';
import { refuseWideClasses } from './ebnf-classes.ts';

it.each(['[é]', '[^—]', '[\\u0400-\\u04ff]', '[a-\\xff]', '[\\U0001F600]', '[a\\]é]', '"[" [é]'])(
  '%s is refused',
  (element) => {
    expect(() => refuseWideClasses(`root ::= ${element}`)).toThrow(
      expect.objectContaining({ code: 'RXLLM_GRAMMAR_INVALID', message: expect.stringContaining('("é" | "è")') }),
    );
  },
);

it.each(['[^a-z]', '[\\x00-\\x7f]', '"[é]"', '[a] # [é]', '[\\\\u0400]', '("é" | "è")'])('%s is not', (element) => {
  expect(() => refuseWideClasses(`root ::= ${element}`)).not.toThrow();
});
