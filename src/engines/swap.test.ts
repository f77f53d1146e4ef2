import { map, of, tap } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { operatorContext } from '../../test/support/context.ts';
import { testScheduler } from '../../test/support/marbles.ts';
import { scriptedEngine } from '../../test/support/scripted-engine.ts';
import type { Slot, Tick } from '../core/contracts/index.ts';
import { kvCache } from './kv-cache.ts';
import { observe, pipeSlots, swap } from './swap.ts';

describe('swap', () => {
  it('changes the slots it names and leaves the recipe it came from alone', () => {
    const decode = kvCache.prefill as unknown as typeof kvCache.decode;
    const swapped = swap(kvCache, { name: 'other', decode });
    expect(swapped).toEqual({ ...kvCache, name: 'other', decode });
    expect(kvCache.name).toBe('kv-cache');
  });
});

describe('observe', () => {
  it('puts observers behind each stage, in the order given', async () => {
    const seen: string[] = [];
    const watch =
      (name: string) =>
      <T extends Tick>(_: unknown, stage: string) =>
        tap<T>(() => seen.push(`${name} ${stage}`));
    const recipe = observe(observe(kvCache, watch('a')), watch('b'));
    const { engine } = await scriptedEngine({}, {}, { observers: recipe.observers });
    await engine.generate('abc', 1);
    await engine.close();
    const stages = 'schedule allocate prefill decode sample detokenize stop settle meter'.split(' ');
    expect(seen.slice(0, 18)).toEqual(stages.flatMap((stage) => [`a ${stage}`, `b ${stage}`]));
  });
});

describe('pipeSlots', () => {
  it('runs the second behind the first, both of one context', () => {
    const add =
      (digit: string): Slot<string, string> =>
      (context) =>
        map((text) => `${text}${digit}${context.options.maxQueue}`);
    const seen: string[] = [];
    of('')
      .pipe(pipeSlots(add('a'), add('b'))(operatorContext(testScheduler())))
      .subscribe((text) => seen.push(text));
    expect(seen).toEqual(['a8b8']);
  });
});
