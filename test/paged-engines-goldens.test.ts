import { from, lastValueFrom, mergeMap, tap, toArray } from 'rxjs';
import { afterAll, describe, expect, it } from 'vitest';
import type {
  Engine,
  EngineOptions,
  EngineStats,
  GenerateRequest,
  GenerateResult,
  KvSlot,
  Observer,
  StagedRecipe,
  Tick,
  TokenId,
} from '../src/core/contracts/index.ts';
import { pagedBlocks } from '../src/core/memory/paged-blocks.ts';
import { prefixCached } from '../src/core/memory/prefix-cached.ts';
import { loadModel } from '../src/core/model/load-model.ts';
import { native } from '../src/core/runtime/native-runner.ts';
import { stock } from '../src/core/runtime/stock-runner.ts';
import { createEngine, kvCache, observe, paged, swap } from '../src/engines/index.ts';
import { generationGoldens, modelDirectory } from './support/models.ts';

const model = await loadModel(modelDirectory('storyteller-12m'));
const goldens = generationGoldens('storyteller-12m');
const longest = goldens.reduce((a, b) => (b.input_ids.length > a.input_ids.length ? b : a)).input_ids;
const NEW_TOKENS = 20;

const opened: Engine[] = [];
afterAll(() => Promise.all(opened.map((engine) => engine.close())));

/** The books are balanced after each step. */
const invariants: Observer = <T extends Tick>(context: Parameters<Observer>[0], stage: string) =>
  tap<T>(() => {
    if (stage === 'settle') context.kv.checkInvariants();
  });

async function engineOf(kv: KvSlot, options: Partial<EngineOptions> = {}, change: Partial<StagedRecipe> = {}) {
  const recipe = swap(paged, { ...change, name: 'tested', kv });
  const engine = await createEngine(observe(recipe, invariants), model, options);
  opened.push(engine);
  const stats: EngineStats[] = [];
  engine.stats$.subscribe((value) => stats.push(value));
  return { engine, stats };
}

interface Outcome extends GenerateResult {
  /** Of each token, a function of every bit of its logits. */
  readonly logprobs: readonly (number | undefined)[];
  readonly preempted: boolean;
}

/** All at once, or so many at a time. */
async function run(engine: Engine, requests: readonly GenerateRequest[], atOnce = requests.length): Promise<Outcome[]> {
  const params = { maxTokens: NEW_TOKENS, ignoreEos: true, logprobs: 0 };
  const results = requests.map((request, i) => ({ i, request: { ...request, params } }));
  const done = await lastValueFrom(
    from(results).pipe(
      mergeMap(async ({ i, request }) => {
        const events = await lastValueFrom(engine.stream(request).pipe(toArray()));
        const last = events.at(-1);
        if (last?.type !== 'finished') throw new Error('no result');
        const preempted = events.some(({ type }) => type === 'preempted');
        const logprobs = events.flatMap((event) => (event.type === 'token' ? [event.logprobs?.logprob] : []));
        return { i, outcome: { ...last.result, preempted, logprobs } };
      }, atOnce),
      toArray(),
    ),
  );
  return done.sort((a, b) => a.i - b.i).map(({ outcome }) => outcome);
}

const prompts = (...ids: readonly (readonly TokenId[])[]): GenerateRequest[] => ids.map((prompt) => ({ prompt }));
const outputs = (results: readonly GenerateResult[]) => results.map(({ outputIds }) => outputIds);

const reference = await createEngine(kvCache, model);
opened.push(reference);
const said = new Map<string, Promise<readonly TokenId[]>>();

/** What the engine of chapter 4 says, each prompt alone in a contiguous cache, and once for all tests. */
function expected(requests: readonly GenerateRequest[]): Promise<(readonly TokenId[])[]> {
  return Promise.all(
    requests.map(({ prompt }) => {
      const ids = said.get(String(prompt)) ?? run(reference, [{ prompt }]).then((results) => outputs(results)[0]!);
      said.set(String(prompt), ids);
      return ids;
    }),
  );
}

describe.each([
  ['paged', pagedBlocks],
  ['prefix cached', prefixCached],
] as const)('%s: the greedy ids of a contiguous cache', (name, slot) => {
  it('the goldens, together, twice', async () => {
    const { engine, stats } = await engineOf(slot());
    const short = goldens.filter(({ input_ids }) => input_ids.length < 200);
    const requests = prompts(...short.map(({ input_ids }) => input_ids));
    const wanted = short.map(({ greedy_ids }) => greedy_ids.slice(0, NEW_TOKENS));
    expect(outputs(await run(engine, requests))).toEqual(wanted);
    expect(outputs(await run(engine, requests))).toEqual(wanted);
    expect(stats.at(-1)).toMatchObject({ blocksUsed: 0 });
    expect(stats.at(-1)!.prefixCache.hits > 0).toBe(name !== 'paged');
  });

  it('prompts around multiples of the block size, first together and then over what is cached', async () => {
    const { engine } = await engineOf(slot());
    const lengths = [1, 15, 16, 17, 31, 32, 33, 47, 48, 49];
    const requests = prompts(...lengths.map((length) => longest.slice(0, length)));
    const wanted = await expected(requests);
    const first = await run(engine, requests);
    expect(outputs(first)).toEqual(wanted);
    const again = await run(engine, requests, 3);
    expect(outputs(again)).toEqual(wanted);
    expect(again.map(({ logprobs }) => logprobs)).toEqual(first.map(({ logprobs }) => logprobs));
    const cached = lengths.map((length) => (name === 'paged' ? undefined : 16 * Math.floor((length - 1) / 16)));
    expect(again.map(({ metrics }) => metrics.cachedTokens ?? 0)).toEqual(cached.map((tokens) => tokens ?? 0));
  });

  it('prefixes shared by those who run at the same time', async () => {
    const { engine } = await engineOf(slot(), { maxNumBatchedTokens: 100 });
    const requests = prompts(
      ...Array.from({ length: 8 }, (_, i) => [
        ...longest.slice(0, 70 + i),
        ...longest.slice(200 + 9 * i, 209 + 10 * i),
      ]),
    );
    expect(outputs(await run(engine, requests, 3))).toEqual(await expected(requests));
  });

  it('after preemption and eviction, in a pool that holds two of them', async () => {
    const { engine, stats } = await engineOf(slot({ blocks: 13 }));
    const requests = prompts(
      ...Array.from({ length: 6 }, (_, i) => longest.slice(i % 3 === 0 ? 0 : 10 * i, 70 + 11 * i)),
    );
    const wanted = await expected(requests);
    const results = await run(engine, requests);
    expect(outputs(results)).toEqual(wanted);
    expect(results.some(({ preempted }) => preempted)).toBe(true);
    expect(outputs(await run(engine, requests))).toEqual(wanted);
    expect(stats.at(-1)).toMatchObject({ blocksUsed: 0, waiting: 0, running: 0 });
  });

  it.each([
    [16, native],
    [23, native],
    [33, native],
    [23, stock],
  ] as const)('n: 4 after a prompt of %i tokens, %o', async (length, runtime) => {
    const { engine, stats } = await engineOf(slot(), {}, { runtime: runtime() });
    const prompt = longest.slice(0, length);
    const [parent, ...children] = [0, 1, 2, 3].map((i) =>
      i === 0 ? { prompt, id: 'parent' } : { prompt, forkOf: 'parent' },
    );
    const wanted = await expected([parent!]);
    const results = await run(engine, [parent!, ...children]);
    expect(outputs(results)).toEqual(Array(4).fill(wanted[0]));
    for (const { logprobs } of results) expect(logprobs).toEqual(results[0]!.logprobs);
    expect(results.map(({ metrics }) => metrics.cachedTokens ?? 0)).toEqual([0, ...Array(3).fill(length - 1)]);
    const [shared, whole] = [Math.floor((length - 1) / 16), Math.ceil((length + NEW_TOKENS - 1) / 16)];
    expect(Math.max(...stats.map(({ blocksUsed }) => blocksUsed))).toBe(shared + 4 * (whole - shared));
  });
});
