import { filter, firstValueFrom, lastValueFrom, map, take, toArray } from 'rxjs';
import { afterAll, describe, expect, it } from 'vitest';
import { embeddedModel } from '../../test/support/real-server.ts';
import { slowed } from '../../test/support/slow-matcher.ts';
import { withEngine } from '../../test/support/with-engine.ts';
import type { Engine, ResponseFormat, SamplingParams } from '../core/contracts/index.ts';
import { GRAMMAR_LIMITS } from '../core/grammar/grammars.ts';
import { type RecordLine, recordedOptions } from '../core/recording/lines.ts';
import { createRandom } from '../core/sampling/random.ts';
import { record } from '../operators/record.ts';
import { createEngine } from './create-engine.ts';
import { createEngineHost } from './engine-host.ts';
import { findEngine } from './registry.ts';
import { replay } from './replay/replay.ts';
import { observe, swap } from './swap.ts';

const model = await embeddedModel();
// While it is open the others share its compiled grammars.
const keeper = await createEngine(findEngine('kv-cache').recipe, model);
afterAll(() => keeper.close());
const PROMPT = 'Once upon a time';
const REGEX = /^[a-z]{4} [a-z]{4} [0-9]{12}$/;
const FORMAT: ResponseFormat = { type: 'regex', pattern: '[a-z]{4} [a-z]{4} [0-9]{12}' };
const params = { responseFormat: FORMAT, temperature: 1, seed: 7, maxTokens: 80 };

const textOf = (engine: Engine, params: Partial<SamplingParams>) =>
  lastValueFrom(
    engine
      .stream({ prompt: PROMPT, params })
      .pipe(map((event) => (event.type === 'finished' ? event.result.text : ''))),
  );

describe('every kind of engine follows a grammar, and draws the same from it', async () => {
  const reference = await keeper.generate(PROMPT, undefined, params);
  it.each(['baseline', 'transformer', 'prefix-caching', 'int4', 'speculative'])('%s', async (name) => {
    const { recipe } = findEngine(name);
    const result = await withEngine(recipe, model, (engine) => engine.generate(PROMPT, undefined, params));
    expect(result.text).toMatch(REGEX);
    expect(result.finishReason).toBe('stop');
    if (recipe.exact) expect(result.text).toBe(reference.text);
  });
});

it('neither texts without a grammar nor those whose grammar is compiled wait for others to be compiled', async () => {
  const items = { type: 'string', maxLength: 60 };
  await withEngine(findEngine('continuous-batching').recipe, model, async (engine) => {
    await engine.generate(PROMPT, undefined, params);
    const refused: unknown[] = [];
    // More than may wait, each with a grammar of its own that takes seconds.
    const waiting = Array.from({ length: GRAMMAR_LIMITS.maxWaiting + 2 }, (_, count) => {
      const schema = { title: String(count), type: 'array', items, minItems: 60, maxItems: 60 };
      const responseFormat: ResponseFormat = { type: 'json_schema', schema };
      return engine
        .stream({ prompt: PROMPT, params: { responseFormat } })
        .subscribe({ error: (error: unknown) => refused.push(error) });
    });
    expect((await engine.generate(PROMPT, 8, { ignoreEos: true })).metrics.outputTokens).toBe(8);
    expect((await engine.generate(PROMPT, undefined, params)).text).toMatch(REGEX);
    for (const reading of waiting) reading.unsubscribe();
    expect(refused).toHaveLength(2);
    expect(refused[0]).toMatchObject({ code: 'RXLLM_QUEUE_FULL' });
  });
});

it('drafts are for rows without a grammar only', async () => {
  await withEngine(findEngine('speculative').recipe, model, async (engine) => {
    const [guided, free] = await Promise.all([
      engine.generate(PROMPT, undefined, params),
      engine.generate(PROMPT, 80, { ignoreEos: true }),
    ]);
    expect(guided.text).toMatch(REGEX);
    expect(guided.metrics.specDecode).toBeUndefined();
    expect(free.metrics.specDecode?.tokensProposed).toBeGreaterThan(0);
  });
});

it('a preempted text goes on where it was', async () => {
  const { recipe } = findEngine('paged-attention');
  const prompts = [PROMPT, 'The little fox', 'A small house', 'Anna had a secret'];
  // Their blocks are enough for two of them at full length.
  const options = { kvCacheMemoryMiB: 1, maxModelLen: 96 };
  const ask = (engine: Engine, prompt: string) => firstValueFrom(engine.stream({ prompt, params }).pipe(toArray()));
  const crowded = await withEngine(
    recipe,
    model,
    (engine) => Promise.all(prompts.map((prompt) => ask(engine, prompt))),
    options,
  );
  expect(crowded.flat().some(({ type }) => type === 'preempted')).toBe(true);
  await withEngine(recipe, model, async (engine) => {
    for (const [index, prompt] of prompts.entries()) {
      const alone = await ask(engine, prompt);
      const [a, b] = [alone.at(-1), crowded[index]!.at(-1)];
      if (a?.type !== 'finished' || b?.type !== 'finished') throw new Error('it did not finish');
      expect(b.result.outputIds).toEqual(a.result.outputIds);
      expect(b.result.text).toMatch(REGEX);
    }
  });
});

it('a recording with late masks replays to the same, however long they take there', async () => {
  const lines: RecordLine[] = [];
  const { recipe } = findEngine('continuous-batching');
  if (recipe.kind !== 'staged') throw new Error('it has no stages');
  // Of every other sequence each mask takes longer than a step waits.
  let count = 0;
  const withLateMasks: typeof recipe.tokenize = (context) => (requests) =>
    requests.pipe(
      recipe.tokenize(context),
      map((sequence) => {
        const isSlow = count++ % 2 === 0 && sequence.grammar !== undefined;
        return isSlow ? { ...sequence, grammar: slowed(sequence.grammar!, 30, context.options.clock) } : sequence;
      }),
    );
  const slow = observe(
    swap(recipe, { name: 'late-masks', tokenize: withLateMasks }),
    record((line) => lines.push(structuredClone(line))),
  );
  await withEngine(
    slow,
    model,
    async (engine) => {
      const texts = await Promise.all([1, 2, 3, 4].map((seed) => textOf(engine, { ...params, seed })));
      for (const text of texts) expect(text).toMatch(REGEX);
      const options = recordedOptions(engine.options);
      lines.unshift({ type: 'engine', engine: engine.name, model: model.name, seed: 5, options });
    },
    { random: createRandom(5) },
  );
  expect(lines.some((line) => line.type === 'step' && line.late !== undefined)).toBe(true);
  expect(lines.some(({ type }) => type === 'mask')).toBe(true);
  const replayed = await replay(recipe, model, JSON.parse(JSON.stringify(lines)) as RecordLine[]);
  expect(replayed.parting).toBeUndefined();
  expect(replayed.steps).toBeGreaterThan(20);
});

it('a hot swap leaves running texts their grammars, and keeps what is compiled', async () => {
  const host = createEngineHost((name) => createEngine(findEngine(name).recipe, model));
  const first = await host.swap('continuous-batching');
  const texts = [1, 2, 3].map((seed) => textOf(first, { ...params, seed }));
  await firstValueFrom(first.stats$.pipe(filter(({ running }) => running > 0)));
  const second = await host.swap('prefix-caching');
  for (const text of await Promise.all(texts)) expect(text).toMatch(REGEX);
  expect(await textOf(second, params)).toMatch(REGEX);
  await host.close();
});

it('maxTokens cuts with length, and a stop string where it stands', async () => {
  await withEngine(findEngine('kv-cache').recipe, model, async (engine) => {
    const cut = await engine.generate(PROMPT, 6, params);
    expect(cut.finishReason).toBe('length');
    const whole = await engine.generate(PROMPT, undefined, params);
    expect(whole.text.startsWith(cut.text)).toBe(true);
    const stopped = await engine.generate(PROMPT, undefined, { ...params, stop: [' '] });
    expect(stopped).toMatchObject({ finishReason: 'stop', text: whole.text.split(' ')[0] });
  });
});

describe('leaving', () => {
  it('while the grammar is compiled takes nothing', async () => {
    await withEngine(findEngine('kv-cache').recipe, model, async (engine) => {
      const format: ResponseFormat = { type: 'regex', pattern: '(left|early)[0-9]{9}' };
      const events: string[] = [];
      const reading = engine
        .stream({ prompt: PROMPT, params: { responseFormat: format } })
        .subscribe(({ type }) => events.push(type));
      reading.unsubscribe();
      expect((await engine.generate(PROMPT, 20, { responseFormat: format })).text).toMatch(/^(left|early)[0-9]/);
      expect(events).toEqual([]);
    });
  });

  it('in the middle frees the matcher, and the others go on', async () => {
    await withEngine(findEngine('continuous-batching').recipe, model, async (engine) => {
      const other = engine.generate(PROMPT, undefined, params);
      const read = engine.stream({ prompt: PROMPT, params }).pipe(
        filter(({ type }) => type === 'token'),
        take(3),
        toArray(),
      );
      expect(await firstValueFrom(read)).toHaveLength(3);
      expect((await other).text).toMatch(REGEX);
    });
  });

  it('a deadline that passes before the grammar is compiled ends with abort', async () => {
    await withEngine(findEngine('kv-cache').recipe, model, async (engine) => {
      // Takes a second and more to compile.
      const responseFormat: ResponseFormat = { type: 'regex', pattern: `late${'a?'.repeat(2000)}` };
      const events = await firstValueFrom(
        engine.stream({ prompt: PROMPT, params: { responseFormat }, deadlineMs: 1 }).pipe(toArray()),
      );
      expect(events.map(({ type }) => type)).toEqual(['finished']);
      expect(events[0]).toMatchObject({ result: { finishReason: 'abort', outputIds: [] } });
    });
  });

  it('closing the engine ends who waits for a grammar, though others share it', async () => {
    const engine = await createEngine(findEngine('kv-cache').recipe, model);
    const responseFormat: ResponseFormat = { type: 'regex', pattern: '(closed)[0-9]{500}' };
    const waiting = engine.generate(PROMPT, 5, { responseFormat });
    await engine.close();
    await expect(waiting).rejects.toMatchObject({ code: 'RXLLM_ENGINE_CLOSED' });
  });
});
