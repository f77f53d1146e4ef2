import { expect, it } from 'vitest';
import { noCache } from '../core/memory/no-cache.ts';
import { generateLoop } from './generate-loop.ts';
import { engines, findEngine } from './registry.ts';
import { swap } from './swap.ts';
import { swappedSlots } from './swapped-slots.ts';

it('has each chapter’s engine, and what it swaps', () => {
  expect(engines.map(({ chapter, recipe, swapped }) => [chapter, recipe.name, swapped])).toEqual([
    [1, 'baseline', '(one box)'],
    [2, 'generate-loop', '(the box opened)'],
    [3, 'transformer', 'model'],
    [4, 'kv-cache', 'model, runtime, kv'],
  ]);
  expect(() => findEngine('warp')).toThrow('There is no engine "warp"; there is baseline, generate-loop');
});

it('sees a swap in the slots themselves', () => {
  expect(swappedSlots(swap(generateLoop, { name: 'other', kv: noCache() }), generateLoop)).toEqual(['kv']);
  expect(swappedSlots(swap(generateLoop, { name: 'other' }), generateLoop)).toEqual([]);
});
