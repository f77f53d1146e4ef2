import { expect, it } from 'vitest';
import { noCache } from '../core/memory/no-cache.ts';
import { generateLoop } from './generate-loop.ts';
import { kvCache } from './kv-cache.ts';
import { engines, findEngine } from './registry.ts';
import { swap } from './swap.ts';
import { describeSwap, swappedSlots } from './swapped-slots.ts';

it('sees a swap in the slots themselves', () => {
  expect(swappedSlots(swap(generateLoop, { name: 'other', kv: noCache() }), generateLoop)).toEqual(['kv']);
  expect(swappedSlots(swap(generateLoop, { name: 'other' }), generateLoop)).toEqual([]);
});

it('tells what each chapter swaps', () => {
  const swaps = engines.map((entry, index) => [entry.recipe.name, describeSwap(entry, engines[index - 1])]);
  expect(Object.fromEntries(swaps)).toMatchObject({
    baseline: '(the first)',
    'generate-loop': '(the box opened)',
    transformer: 'model',
    'kv-cache': 'model, runtime, kv',
    'flash-attention': 'model',
    'continuous-batching': 'schedule, decode',
  });
  expect(describeSwap({ ...findEngine('transformer'), from: kvCache }, undefined)).toBe('model, runtime, kv');
});
