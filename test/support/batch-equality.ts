import { BehaviorSubject, type Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';
import type {
  Engine,
  EngineOptions,
  GenerateRequest,
  Model,
  SamplingParams,
  StagedRecipe,
  TokenEvent,
  TokenId,
} from '../../src/core/contracts/index.ts';
import { pagedBlocks } from '../../src/core/memory/paged-blocks.ts';
import { loadModel } from '../../src/core/model/load-model.ts';
import { createRandom } from '../../src/core/sampling/random.ts';
import { continuous } from '../../src/engines/continuous-batching.ts';
import { flashAttention } from '../../src/engines/flash-attention.ts';
import { staticBatch } from '../../src/engines/static-batching.ts';
import { swap } from '../../src/engines/swap.ts';
import { modelDirectory } from './models.ts';
import { withEngine } from './with-engine.ts';

interface Arrival {
  readonly request: GenerateRequest;
  /** It arrives when request `after` has said `tokens` tokens; the first is there from the start. */
  readonly after: number;
  readonly tokens: number;
  readonly demand$?: Subject<boolean>;
}

interface Said {
  readonly ids: readonly TokenId[];
  readonly logprobs: readonly number[];
}

const draft = await loadModel(modelDirectory('storyteller-draft'));

/** Prompts of 1 to 90 random tokens, and 1 to 40 tokens out. */
function randomArrivals(count: number, seed: number, params: Partial<SamplingParams>): readonly Arrival[] {
  const random = createRandom(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  const lengths = Array.from({ length: count }, () => 1 + below(40));
  return lengths.map((maxTokens, i) => {
    const prompt = Array.from({ length: 1 + below(90) }, () => 100 + below(8000));
    const after = below(Math.min(i, 4));
    const request = { prompt, params: { ...params, maxTokens, ignoreEos: true, logprobs: 0, seed: seed + i } };
    return { request, after, tokens: 1 + below(Math.min(6, lengths[after]!)) };
  });
}

function say(engine: Engine, request: GenerateRequest, onEvent: (type: TokenEvent['type'], count: number) => void) {
  const ids: TokenId[] = [];
  const logprobs: number[] = [];
  return new Promise<Said>((resolve, reject) => {
    engine.stream(request).subscribe({
      next: (event) => {
        if (event.type === 'token') {
          ids.push(event.id);
          logprobs.push(event.logprobs!.logprob);
        }
        onEvent(event.type, ids.length);
      },
      error: reject,
      complete: () => resolve({ ids, logprobs }),
    });
  });
}

/** One after the other. */
const alone = (recipe: StagedRecipe, arrivals: readonly Arrival[], model: Model = draft) =>
  withEngine(
    recipe,
    model,
    async (engine) => {
      const said: Said[] = [];
      for (const { request } of arrivals) said.push(await say(engine, request, () => {}));
      return said;
    },
    { maxNumSeqs: 1 },
  );

/** Each as it arrives. */
const together = (
  recipe: StagedRecipe,
  options: Partial<EngineOptions>,
  arrivals: readonly Arrival[],
  model: Model = draft,
) =>
  withEngine(
    recipe,
    model,
    async (engine) => {
      const said: Promise<Said>[] = [];
      let preemptions = 0;
      let mostRunning = 0;
      engine.stats$.subscribe(({ running }) => {
        mostRunning = Math.max(mostRunning, running);
      });
      const arrive = (i: number) => {
        const { request, demand$ } = arrivals[i]!;
        said[i] = say(engine, { ...request, ...(demand$ && { demand$ }) }, (type, count) => {
          if (type === 'preempted') {
            preemptions += 1;
            demand$?.next(true);
          }
          if (type === 'token' && count === 2) demand$?.next(false);
          if (type !== 'token') return;
          arrivals.forEach(({ after, tokens }, next) => {
            if (next > 0 && after === i && tokens === count) arrive(next);
          });
        });
      };
      arrive(0);
      // A request arrives before the one that brings it along has ended.
      for (const [i, { after }] of arrivals.entries()) await (said[i] ?? said[after]);
      return { said: await Promise.all(said), preemptions, mostRunning };
    },
    options,
  );

/** Of every second request the reader falls behind after two tokens, until the sequence has lost its memory. */
function withSlowReader(arrival: Arrival, index: number): Arrival {
  if (index % 2 === 0) return arrival;
  return { ...arrival, demand$: new BehaviorSubject(true) };
}

const paged = swap(continuous, { name: 'paged', kv: pagedBlocks({ blockSize: 8 }) });
/** 240 tokens for up to 32 sequences of up to 130 each. */
const crowded = swap(continuous, { name: 'crowded', kv: pagedBlocks({ blockSize: 8, blocks: 31 }) });

const KINDS: Record<string, Partial<SamplingParams>> = { greedy: {}, sampled: { temperature: 0.8, topP: 0.95 } };

/**
 * A request must not be able to tell who its neighbours are: not by its ids, and not by a bit of its logits, of which
 * each token's log-probability is a function. `repeats`: also what a seed runs through no other code for.
 */
export function testBatchEquality({ repeats }: { readonly repeats: boolean }): void {
  describe.each(Object.entries(KINDS))('%s', (kind, params) => {
    const isWhole = repeats || kind === 'greedy';
    const arrivals = randomArrivals(48, 5, params);
    const aloneContiguous = alone(continuous, arrivals);
    const alonePaged = alone(paged, arrivals);

    const policies = isWhole ? [staticBatch, continuous] : [continuous];
    it.each(policies.flatMap((recipe) => [1, 8, 32].map((batch) => ({ recipe, batch }))))(
      '$recipe.name, batch $batch',
      async ({ recipe, batch }) => {
        const options = { maxNumSeqs: batch, maxNumBatchedTokens: 64 };
        const { said, mostRunning } = await together(recipe, options, arrivals);
        expect(mostRunning).toBeGreaterThanOrEqual(batch / 2);
        expect(said).toEqual(await aloneContiguous);
      },
    );

    it.each(isWhole ? [8] : [])('flash-attention, batch %i', async (batch) => {
      const few = arrivals.slice(0, repeats ? 48 : 16);
      const { said } = await together(flashAttention, { maxNumSeqs: batch }, few);
      expect(said).toEqual(await alone(flashAttention, few));
    });

    it.each(isWhole ? [8, 32] : [32])('paged, batch %i', async (batch) => {
      const { said } = await together(paged, { maxNumSeqs: batch, maxNumBatchedTokens: 64 }, arrivals);
      expect(said).toEqual(await alonePaged);
    });

    it('preempted for want of blocks', async () => {
      const { said, preemptions } = await together(crowded, { maxNumSeqs: 32, maxNumBatchedTokens: 64 }, arrivals);
      expect(preemptions).toBeGreaterThan(5);
      expect(said).toEqual(await alonePaged);
    });

    it('preempted behind slow readers, over contiguous memory', async () => {
      const options = { maxNumSeqs: 8, maxNumBatchedTokens: 64, maxPauseMs: 1 };
      const { said, preemptions } = await together(continuous, options, arrivals.map(withSlowReader));
      expect(preemptions).toBeGreaterThan(5);
      expect(said).toEqual(await aloneContiguous);
    });

    it.each(isWhole ? [continuous, paged] : [paged])('storyteller-12m, $name, batch 8', async (recipe) => {
      const model = await loadModel(modelDirectory('storyteller-12m'));
      const few = randomArrivals(12, 7, params);
      const { said } = await together(recipe, { maxNumSeqs: 8, maxNumBatchedTokens: 64 }, few, model);
      expect(said).toEqual(await alone(recipe, few, model));
    });
  });
}
