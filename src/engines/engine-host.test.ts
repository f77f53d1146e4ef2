import { lastValueFrom, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { scriptedRecipe } from '../../test/support/scripted-engine.ts';
import { toyModel } from '../../test/support/toy-model.ts';
import type { Engine, TokenEvent } from '../core/contracts/index.ts';
import { contiguousSlots } from '../core/memory/contiguous-slots.ts';
import { createTurns } from '../core/runtime/turns.ts';
import { continuousBatching } from '../core/scheduling/continuous-batching.ts';
import { schedule } from '../operators/schedule.ts';
import { createEngine } from './create-engine.ts';
import { createEngineHost } from './engine-host.ts';

/** Hosts scripted engines under any name but `broken`; `closed` lists those that have closed. */
function scriptedHost() {
  const closed: string[] = [];
  const share = createTurns();
  const host = createEngineHost(async (name): Promise<Engine> => {
    if (name === 'broken') throw new Error('no such graph');
    const { recipe } = scriptedRecipe(
      { delayMs: 1 },
      { schedule: schedule(continuousBatching()), kv: contiguousSlots() },
    );
    const engine = await createEngine({ ...recipe, name, runtime: share(recipe.runtime) }, toyModel, { maxQueue: 100 });
    return { ...engine, close: () => engine.close().then(() => void closed.push(name)) };
  });
  return { host, closed };
}

const textOf = async (engine: Engine, prompt: string, maxTokens: number) => {
  const events: TokenEvent[] = await lastValueFrom(engine.stream({ prompt, params: { maxTokens } }).pipe(toArray()));
  const last = events.at(-1);
  return last?.type === 'finished' ? last.result.text : undefined;
};

describe('an engine host', () => {
  it('swaps under load: none fails, none changes its text, and the old engine closes after its last request', async () => {
    const { host, closed } = scriptedHost();
    expect(host.engine()).toBeUndefined();
    const old = await host.swap('old');
    const before = Array.from({ length: 32 }, (_, i) => textOf(old, 'ab', 1 + (i % 9)));
    const [fresh] = await Promise.all([host.swap('new'), ...before.slice(0, 1)]);
    expect(host.engine()).toBe(fresh);
    const after = Array.from({ length: 32 }, (_, i) => textOf(host.engine()!, 'ab', 1 + (i % 9)));
    expect(closed).toEqual([]);
    const texts = await Promise.all([...before, ...after]);
    expect(texts).toEqual(Array.from({ length: 64 }, (_, i) => 'cdefghijk'.slice(0, 1 + ((i % 32) % 9))));
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(closed).toEqual(['old']);
    await host.close();
    expect(closed).toEqual(['old', 'new']);
  });

  it('keeps the old engine when the new one cannot start', async () => {
    const { host, closed } = scriptedHost();
    const old = await host.swap('old');
    await expect(host.swap('broken')).rejects.toThrow('no such graph');
    expect(host.engine()).toBe(old);
    expect(await textOf(old, 'ab', 2)).toBe('cd');
    expect(closed).toEqual([]);
    await host.close();
  });

  it('serves who still holds a retired engine from its successor', async () => {
    const { host } = scriptedHost();
    const old = await host.swap('old');
    await host.swap('new');
    expect(await textOf(old, 'ab', 2)).toBe('cd');
    await host.close();
  });

  it('starts nothing any more once it is closed, and closes what was starting', async () => {
    const { host, closed } = scriptedHost();
    const starting = host.swap('late');
    const refused = expect(starting).rejects.toMatchObject({ code: 'RXLLM_ENGINE_CLOSED' });
    await host.close();
    await refused;
    await expect(host.swap('later')).rejects.toMatchObject({ code: 'RXLLM_ENGINE_CLOSED' });
    expect(closed).toEqual([]);
  });
});
