import { delay, map, of, tap } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { decodeRow, emptyStep, operatorContext, runningSequence } from '../../test/support/context.ts';
import { expectWellBehaved, testScheduler } from '../../test/support/marbles.ts';
import { alphabet } from '../../test/support/scripted-engine.ts';
import { letters, toyConfig, toyModel } from '../../test/support/toy-model.ts';
import type { Computed, EngineContext, ModelRunner, PlannedRow, Sequence } from '../core/contracts/index.ts';
import { prefixCached } from '../core/memory/prefix-cached.ts';
import { type Script, scriptedRunner } from '../core/runtime/scripted-runner.ts';
import { verify } from './verify.ts';

/** Sequences `abc` + output, whose prompt is in the cache, on a model that spells the alphabet on. */
function start(script: Partial<Script> = {}, blocks = 20, wrap = (runner: ModelRunner) => runner) {
  const bare = operatorContext(testScheduler());
  const kv = prefixCached({ blocks, blockSize: 4 })(toyModel, bare.options);
  const runner = scriptedRunner({ config: toyConfig, pool: kv.pool, next: alphabet, ...script });
  const context = operatorContext(testScheduler(), { kv, runner: wrap(runner) });
  const add = (params: Parameters<typeof runningSequence>[1] = {}): PlannedRow => {
    const sequence = runningSequence(context, params);
    const { blocks: table } = kv.reserve(sequence, sequence.tokens.length)!;
    const ids = sequence.tokens.slice(0, -1);
    runner
      .forward({ rows: 1, width: ids.length, ids: [ids], positions: [0], blockTables: [table], logitsAt: [] })
      .subscribe();
    sequence.computed = ids.length;
    return decodeRow(sequence);
  };
  return { context, kv, runner, add };
}

function stepOf(
  { kv }: EngineContext,
  rows: readonly PlannedRow[],
  drafts: Readonly<Record<string, string>>,
): Computed {
  return emptyStep({
    rows,
    reservations: new Map(rows.map(({ sequence }) => [sequence.id, kv.reserve(sequence, 1)!])),
    drafts: new Map(Object.entries(drafts).map(([id, text]) => [id, { tokens: letters(text) }])),
  });
}

function run(context: EngineContext, step: Computed): Computed {
  let seen: Computed | undefined;
  of(step)
    .pipe(verify()(context))
    .subscribe((computed) => {
      seen = computed;
    });
  return seen!;
}

const text = (ids: readonly number[] | undefined) => toyModel.tokenizer.decode(ids ?? []);
const missing = (): never => {
  throw new TypeError('no random numbers');
};
const tableLength = ({ sequence }: PlannedRow) => sequence.blocks.length;

describe('verify', () => {
  it('runs every row with its draft in one pass, and lets stand what the model says too', () => {
    const { context, kv, runner, add } = start();
    const rows = [add({ output: 'd' }), add({ output: 'd' }), add({ output: 'd' }), add({ output: 'd' })];
    const { accepted, logits } = run(context, stepOf(context, rows, { s0: 'efg', s1: 'exg', s2: 'x' }));
    expect(runner.calls.at(-1)).toMatchObject({
      rows: 4,
      width: 4,
      ids: [letters('defg'), letters('dexg'), letters('dx'), letters('d')],
      logitsAt: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12],
    });
    expect([...accepted].map(([id, ids]) => [id, text(ids)])).toEqual([
      ['s0', 'efgh'],
      ['s1', 'ef'],
      ['s2', 'e'],
    ]);
    // A row without a draft is for sample.
    expect([...logits.keys()]).toEqual(['s3']);
    expect(logits.get('s3')!.indexOf(50)).toBe(letters('e')[0]);
    kv.checkInvariants();
  });

  it('gives back the blocks of what fell', () => {
    const { context, kv, add } = start();
    const [stands, falls] = [add({ output: 'd' }), add({ output: 'd' })];
    run(context, stepOf(context, [stands, falls], { s0: 'efghi', s1: 'xfghi' }));
    // Of 9 tokens and their 4 the last has no keys yet; of 5 tokens the last, too.
    expect([tableLength(stands), tableLength(falls), kv.used]).toEqual([3, 1, 4]);
    kv.checkInvariants();
  });

  it('cuts drafts that there is no room for, and takes none from others', () => {
    const { context, kv, add } = start({}, 4);
    const rows = [add({ output: 'd' }), add({ output: 'd' })];
    const { drafts, accepted } = run(context, stepOf(context, rows, { s0: 'efghijk', s1: 'efgh' }));
    expect([...drafts].map(([id, { tokens }]) => [id, text(tokens)])).toEqual([['s0', 'efgh']]);
    expect([...accepted].map(([id, ids]) => [id, text(ids)])).toEqual([['s0', 'efghi']]);
    kv.checkInvariants();
  });

  it('ends a run at a token that ends the text', () => {
    const { context, add } = start();
    const rows = [add({ output: 'd', params: { stopTokenIds: letters('f') } })];
    const { accepted } = run(context, stepOf(context, rows, { s0: 'efgh' }));
    expect(text(accepted.get('s0'))).toBe('ef');
  });

  it('keeps the log-probabilities of each token', () => {
    const { context, add } = start();
    const rows = [add({ output: 'd', params: { logprobs: 1 } })];
    const { accepted, logprobs } = run(context, stepOf(context, rows, { s0: 'ex' }));
    expect(logprobs.get('s0')!.map(({ id, top }) => [id, top.length])).toEqual(
      accepted.get('s0')!.map((id) => [id, 1]),
    );
  });

  it('applies penalties as the text grows', () => {
    // The model says a again and again; a penalty lets the next letter win once the text has an a.
    const [a, b] = letters('ab') as [number, number];
    const next = () =>
      new Float32Array(32)
        .fill(-9)
        .fill(1, a, a + 1)
        .fill(0.5, b, b + 1);
    const { context, add } = start({ next });
    const rows = [add({ prompt: 'xyz', output: 'w', params: { frequencyPenalty: 1 } })];
    const { accepted } = run(context, stepOf(context, rows, { s0: 'aba' }));
    expect(text(accepted.get('s0'))).toBe('abab');
  });

  describe('where no token can be chosen', () => {
    /** After g the model says nothing that could be chosen. */
    const silentAfterG = (ids: readonly number[]) => (ids.at(-1) === letters('g')[0] ? silence : alphabet(ids));
    const silence = new Float32Array(32).fill(Number.NaN);

    it.each([{}, { temperature: 1 }])('what was accepted before stands, and nothing follows it: %o', (params) => {
      const { context, kv, add } = start({ next: silentAfterG });
      const rows = [add({ output: 'd', params }), add({ output: 'd' })];
      const { accepted, logits } = run(context, stepOf(context, rows, { s0: 'efghi', s1: 'ef' }));
      expect([...accepted].map(([id, ids]) => [id, text(ids)])).toEqual([
        ['s0', 'efg'],
        ['s1', 'efg'],
      ]);
      expect(logits.size).toBe(0);
      // Of abcdefg the last token has no keys yet.
      expect(tableLength(rows[0]!)).toBe(2);
      kv.checkInvariants();
    });

    it('at once, the row is left to sample, and its neighbours go on', () => {
      const { context, add } = start({ next: silentAfterG });
      const rows = [add({ prompt: 'ef', output: 'g' }), add({ output: 'd' })];
      const { accepted, logits } = run(context, stepOf(context, rows, { s0: 'hi', s1: 'e' }));
      expect([...accepted].map(([id, ids]) => [id, text(ids)])).toEqual([['s1', 'ef']]);
      expect([...logits]).toEqual([['s0', silence]]);
    });
  });

  it('passes on any other error of a sampler', () => {
    const { context, add } = start();
    const row = add({ output: 'd', params: { temperature: 1 } });
    const broken = { ...context, options: { ...context.options, random: () => missing() } };
    const errors: unknown[] = [];
    of(stepOf(broken, [row], { s0: 'e' }))
      .pipe(verify()(broken))
      .subscribe({ error: (error) => errors.push(error) });
    expect(errors).toEqual([new TypeError('no random numbers')]);
  });

  it('decides nothing for a sequence that was cancelled during the pass', () => {
    let during = () => {};
    const { context, kv, add } = start({}, 20, (runner) => ({
      ...runner,
      config: runner.config,
      forward: (batch) => runner.forward(batch).pipe(tap(() => during())),
    }));
    const row = add({ output: 'd' });
    during = () => {
      row.sequence.phase = 'cancelled';
    };
    const { accepted, logits } = run(context, stepOf(context, [row], { s0: 'efgh' }));
    expect([accepted.size, logits.size]).toEqual([0, 0]);
    expect(tableLength(row)).toBe(1);
    kv.checkInvariants();
  });

  it('emits when the pass is through, and passes an error of it on', () => {
    const scheduler = testScheduler();
    scheduler.run(({ cold, expectObservable }) => {
      const { context, add } = start({}, 20, (runner) => ({
        ...runner,
        forward: (batch) => runner.forward(batch).pipe(delay(3, scheduler)),
      }));
      const step = stepOf(context, [add({ output: 'd' })], { s0: 'e' });
      const done = cold('-a-|', { a: step }).pipe(
        verify()(context),
        map(({ accepted }) => text(accepted.get('s0'))),
      );
      expectObservable(done).toBe('----(e|)', { e: 'ef' });
      const broken = start({ fail: (index) => (index === 1 ? new Error('broken') : undefined) });
      const failing = stepOf(broken.context, [broken.add({ output: 'd' })], { s0: 'e' });
      expectObservable(
        cold('-a-|', { a: failing }).pipe(
          verify()(broken.context),
          map(() => 'x'),
        ),
      ).toBe('-#', {}, expect.objectContaining({ code: 'RXLLM_RUNTIME_FAILED' }));
    });
  });

  it('unsubscribes from a running pass and from its source, and leaves the books in order', () => {
    const sequences: Sequence[] = [];
    const free = () => {
      for (const sequence of sequences) started.kv.free(sequence);
    };
    const started = start();
    testScheduler().run(({ cold, hot, expectObservable, expectSubscriptions }) => {
      const pass = cold<never>('-----|');
      const row = started.add({ output: 'd' });
      sequences.push(row.sequence);
      const context = { ...started.context, runner: { ...started.context.runner, forward: () => pass } };
      const source = hot('-a----', { a: stepOf(context, [row], { s0: 'efgh' }) });
      expectObservable(source.pipe(verify()(context)), '^--!').toBe('----');
      expectSubscriptions(source.subscriptions).toBe('^--!');
      expectSubscriptions(pass.subscriptions).toBe('-^-!');
    });
    started.kv.checkInvariants();
    free();
    expect(started.kv.used).toBe(0);
  });

  it('is well behaved', () => {
    expectWellBehaved((virtual) => verify()(operatorContext(virtual)), emptyStep());
  });
});
