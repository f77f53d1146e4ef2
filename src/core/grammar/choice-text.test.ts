import { expect, it } from 'vitest';
import { choiceText } from './choice-text.ts';

it.each([
  [['a', 'b', 'a'], '"a" | "b"'],
  [['xyzxyw', 'xyw'], '"xy" ("zxyw" | "w")'],
  [['fox', 'forest', 'owl'], '"fo" ("x" | "rest") | "owl"'],
  [['a', 'ab', 'abc'], '"a" ("" | "b" ("" | "c"))'],
  [['é', 'è'], '"é" | "è"'],
  [['😀', '😎', 'a'], '""? "😀" | ""? "😎" | "a"'],
])('%j', (choices, text) => {
  expect(choiceText(choices)).toBe(text);
});
