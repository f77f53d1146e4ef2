import { map, of, tap } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { operatorContext } from '../../test/support/context.ts';
import { testScheduler } from '../../test/support/marbles.ts';
import { scriptedEngine } from '../../test/support/scripted-engine.ts';
import type { Slot, StagedRecipe, Tick } from '../core/contracts/index.ts';
import { baseline } from './baseline.ts';
import { kvCache } from './kv-cache.ts';
import { observe, pipeSlots, swap } from './swap.ts';

describe('swap', () => {
  it('changes the slots it names and leaves the recipe it came from alone', () => {
    const decode = kvCache.prefill as unknown as typeof kvCache.decode;
    const swapped = swap(kvCache, { name: 'other', decode });
    expect(swapped).toEqual({ ...kvCache, name: 'other', decode });
    expect(kvCache.name).toBe('kv-cache');
  });

  it.each([
    ['without a name', kvCache, { decode: kvCache.decode }, 'needs a `name`'],
    ['of a slot that there is not', kvCache, { name: 'a', scheduler: kvCache.schedule }, '"scheduler"; there is name,'],
    ['of the kind', kvCache, { name: 'a', kind: 'opaque' }, 'no slot "kind"'],
    ['of a box', baseline, { name: 'a' }, 'baseline has no slots to swap'],
    ['of a name', 'kv-cache', { name: 'a' }, 'kv-cache has no slots to swap'],
    ['of nothing', undefined, { name: 'a' }, 'undefined has no slots to swap'],
  ])('refuses one %s', (_, recipe, change, message) => {
    expect(() => swap(recipe as StagedRecipe, change as never)).toThrow(
      expect.objectContaining({ code: 'RXLLM_RECIPE_INVALID', message: expect.stringContaining(message) }),
    );
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
