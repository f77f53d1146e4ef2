import { describe, expect, test } from 'vitest';
import type { TokenId } from '../contracts/index.ts';
import { replyWith } from './reply-with.ts';
import type { NextToken } from './scripted-runner.ts';

const END = 99;
const ask = (next: NextToken, history: readonly TokenId[]) => next(history, { index: 0 }) as TokenId;

/** Greedy generation of `count` tokens. */
function generate(next: NextToken, prompt: readonly TokenId[], count: number): TokenId[] {
  const history = [...prompt];
  for (let n = 0; n < count; n++) history.push(ask(next, history));
  return history.slice(prompt.length);
}

describe('replyWith', () => {
  test('gives the reply, then the end for ever', () => {
    expect(generate(replyWith([7, 8, 9], END), [1, 2], 5)).toEqual([7, 8, 9, END, END]);
  });

  test('an empty reply ends at once', () => {
    expect(generate(replyWith([], END), [1, 2], 2)).toEqual([END, END]);
  });

  test('a function answers each prompt, asked once for each', () => {
    const asked: (readonly TokenId[])[] = [];
    const next = replyWith((prompt) => {
      asked.push(prompt);
      return [...prompt].reverse();
    }, END);
    expect(generate(next, [1, 2, 3], 4)).toEqual([3, 2, 1, END]);
    expect(generate(next, [4, 5], 3)).toEqual([5, 4, END]);
    expect(generate(next, [1, 2, 3], 4)).toEqual([3, 2, 1, END]);
    expect(asked).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
  });

  test('prompts that begin alike, interleaved', () => {
    const next = replyWith((prompt) => [prompt.length, prompt.length + 1], END);
    const histories = [[1], [1, 2], [1, 2, 3]];
    for (let n = 0; n < 3; n++) for (const history of histories) history.push(ask(next, history));
    expect(histories).toEqual([
      [1, 1, 2, END],
      [1, 2, 2, 3, END],
      [1, 2, 3, 3, 4, END],
    ]);
  });

  test('a reply goes on after a preemption: the whole history comes back as one prompt', () => {
    const next = replyWith([7, 8, 9], END);
    generate(next, [1, 2], 2);
    generate(next, [5, 6], 1);
    expect(ask(next, [1, 2, 7, 8])).toBe(9);
  });

  test('a second turn of a conversation is a new prompt', () => {
    const next = replyWith((prompt) => [prompt.length], END);
    expect(generate(next, [1, 2], 2)).toEqual([2, END]);
    expect(generate(next, [1, 2, 2, END, 3], 2)).toEqual([5, END]);
  });

  test('draft tokens to verify: logits after each of them', () => {
    const next = replyWith([7, 8, 9], END);
    expect([[1], [1, 7], [1, 7, 8]].map((history) => ask(next, history))).toEqual([7, 8, 9]);
  });

  test('keeps prompts that are in use, forgets those that are long past', () => {
    const next = replyWith((prompt) => [prompt[0]!, 50], END);
    ask(next, [1]);
    for (let prompt = 1000; prompt < 3000; prompt++) {
      ask(next, [prompt]);
      if (prompt === 1500) expect(ask(next, [1, 1])).toBe(50);
      if (prompt === 2500) expect(ask(next, [1, 1])).toBe(50);
    }
    expect(ask(next, [1000, 1000])).toBe(1000);
  });
});
