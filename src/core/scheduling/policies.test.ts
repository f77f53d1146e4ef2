import { describe, expect, it } from 'vitest';
import { virtualOptions } from '../../../test/support/context.ts';
import { fakeSequence } from '../../../test/support/fakes.ts';
import { testScheduler } from '../../../test/support/marbles.ts';
import type { Sequence } from '../contracts/index.ts';
import { continuousBatching } from './continuous-batching.ts';
import { oneAtATime } from './one-at-a-time.ts';
import type { Plan, SchedulerState } from './policy.ts';
import { staticBatching } from './static-batching.ts';

const options = { ...virtualOptions(testScheduler()), maxNumSeqs: 3, maxNumBatchedTokens: 10 };
const state = (parts: Partial<SchedulerState>): SchedulerState => ({
  now: 0,
  waiting: [],
  running: [],
  recompute: false,
  replaysDecodes: false,
  cachedTokens: () => 0,
  options,
  ...parts,
});

/** A sequence with `prompt` tokens, of which `computed` are, and `output` more. */
const sequence = (
  id: string,
  prompt: number,
  { output = 0, computed = 0, ...rest }: Partial<Sequence> & { output?: number } = {},
) =>
  fakeSequence(id, {
    tokens: Array.from({ length: prompt + output }, () => 1),
    promptLength: prompt,
    computed,
    phase: 'waiting',
    ...rest,
  });
const running = (...given: Parameters<typeof sequence>) => ({ ...sequence(...given), phase: 'running' as const });

/** `a:p4` runs four prompt tokens of a, `a:d1` decodes one. */
const rows = ({ rows: planned }: Plan) =>
  planned.map(({ sequence: { id }, kind, newTokens }) => `${id}:${kind[0]}${newTokens}`);
const admitted = (plan: Plan) => plan.admitted.map(({ id }) => id);

describe('oneAtATime', () => {
  it('goes on with the running one, in chunks', () => {
    const plan = oneAtATime({ prefillChunk: 4 })(
      state({ running: [running('a', 9, { computed: 4 })], waiting: [sequence('b', 2)] }),
    );
    expect([rows(plan), admitted(plan)]).toEqual([['a:p4'], []]);
  });

  it('recomputes from the first token where nothing is kept', () => {
    const plan = oneAtATime({ prefillChunk: 4 })(state({ recompute: true, running: [running('a', 9, { output: 2 })] }));
    expect(rows(plan)).toEqual(['a:d11']);
  });

  it('decodes once more, one by one, what had been decoded, where that rounds otherwise', () => {
    const next = (computed: number) =>
      rows(
        oneAtATime({ prefillChunk: 4 })(
          state({ replaysDecodes: true, running: [running('a', 6, { output: 3, computed })] }),
        ),
      );
    expect([0, 4, 6, 7, 8].flatMap(next)).toEqual(['a:p4', 'a:p2', 'a:d1', 'a:d1', 'a:d1']);
  });

  it('waits for a paused one that runs, and passes over one that waits', () => {
    const paused = { ...running('a', 2), phase: 'paused' as const };
    expect(rows(oneAtATime()(state({ running: [paused], waiting: [sequence('b', 2)] })))).toEqual([]);
    expect(admitted(oneAtATime()(state({ waiting: [paused, sequence('b', 2)] })))).toEqual(['b']);
  });
});

describe('staticBatching', () => {
  const policy = staticBatching({ batchSize: 2, maxWaitMs: 5 });

  it('starts when the batch is full, with whole prompts', () => {
    const plan = policy(state({ waiting: [sequence('a', 40), sequence('b', 2), sequence('c', 2)] }));
    expect([rows(plan), admitted(plan)]).toEqual([
      ['a:p40', 'b:p2'],
      ['a', 'b'],
    ]);
  });

  it('waits for company, and no longer than it may', () => {
    const waiting = [sequence('a', 3, { arrivedAt: 10 })];
    expect(policy(state({ now: 12, waiting }))).toEqual({ admitted: [], rows: [], wakeAt: 15 });
    expect(rows(policy(state({ now: 15, waiting })))).toEqual(['a:p3']);
  });

  it('admits nobody while the batch runs, however few are left of it', () => {
    const plan = policy(
      state({ running: [running('a', 3, { output: 1, computed: 3 })], waiting: [sequence('b', 1), sequence('c', 1)] }),
    );
    expect([rows(plan), admitted(plan)]).toEqual([['a:d1'], []]);
  });
});

describe('continuousBatching', () => {
  it('spends its budget on decoding rows, then on prompts under way, then on new ones', () => {
    const plan = continuousBatching()(
      state({
        running: [running('a', 20, { computed: 14 }), running('b', 3, { output: 1, computed: 3 })],
        waiting: [sequence('c', 8), sequence('d', 2)],
      }),
    );
    expect([rows(plan), admitted(plan)]).toEqual([['b:d1', 'a:p6', 'c:p3'], ['c']]);
  });

  it('gives a long prompt no more than the threshold a step', () => {
    const plan = continuousBatching({ longPrefillTokenThreshold: 4 })(
      state({ waiting: [sequence('a', 30), sequence('b', 2)] }),
    );
    expect(rows(plan)).toEqual(['a:p4', 'b:p2']);
  });

  it('never runs more sequences than it may', () => {
    const plan = continuousBatching({ maxNumSeqs: 2 })(
      state({ waiting: ['a', 'b', 'c'].map((id) => sequence(id, 1)) }),
    );
    expect(admitted(plan)).toEqual(['a', 'b']);
  });

  it('admits by priority, and by arrival among equals', () => {
    const waiting = [
      sequence('a', 1, { arrivedAt: 1 }),
      sequence('b', 1, { arrivedAt: 3, request: { prompt: '', priority: -1 } }),
      sequence('c', 1, { arrivedAt: 2, request: { prompt: '', priority: -1 } }),
    ];
    expect(admitted(continuousBatching({ policy: 'priority' })(state({ waiting })))).toEqual(['c', 'b', 'a']);
    expect(admitted(continuousBatching()(state({ waiting })))).toEqual(['a', 'b', 'c']);
  });

  it('leaves paused sequences out, in the batch and in the queue', () => {
    const plan = continuousBatching()(
      state({
        running: [{ ...running('a', 2, { output: 1, computed: 2 }), phase: 'paused' }],
        waiting: [{ ...sequence('b', 2), phase: 'paused' }, sequence('c', 2)],
      }),
    );
    expect([rows(plan), admitted(plan)]).toEqual([['c:p2'], ['c']]);
  });

  it('refuses a budget that not every sequence could decode in', () => {
    expect(() => continuousBatching({ maxNumBatchedTokens: 2 })(state({}))).toThrow(
      expect.objectContaining({ code: 'RXLLM_OPTION_INVALID', param: 'maxNumBatchedTokens' }),
    );
  });
});
