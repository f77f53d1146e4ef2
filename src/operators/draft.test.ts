import { map, NEVER, of, throwError } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { decodeRow, emptyStep, operatorContext, prefillRow, runningSequence } from '../../test/support/context.ts';
import { expectWellBehaved, testScheduler } from '../../test/support/marbles.ts';
import { scriptedProposer } from '../../test/support/scripted-proposer.ts';
import { letters } from '../../test/support/toy-model.ts';
import type { Computed, Draft, EngineContext, ProposerSlot, SequenceId } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { type DraftOptions, draft } from './draft.ts';

const abc = scriptedProposer((_, count) => letters('abcdefgh').slice(0, count));
const fixed = { k: 3, adapt: false };

function drafted(context: EngineContext, step: Computed, proposer: ProposerSlot = abc, options: DraftOptions = fixed) {
  let seen: ReadonlyMap<SequenceId, Draft> | undefined;
  of(step)
    .pipe(draft(proposer, options)(context))
    .subscribe(({ drafts }) => {
      seen = drafts;
    });
  return [...(seen ?? [])].map(([id, { tokens }]) => [id, tokens]);
}

describe('draft', () => {
  it('asks for k tokens for each decoding row, and for none in a prompt', () => {
    const context = operatorContext(testScheduler());
    const rows = [
      decodeRow(runningSequence(context, { output: 'd', computed: 3 })),
      prefillRow(runningSequence(context)),
      decodeRow(runningSequence(context, { output: 'e', computed: 3 })),
    ];
    expect(drafted(context, emptyStep({ rows }))).toEqual([
      ['s0', letters('abc')],
      ['s2', letters('abc')],
    ]);
  });

  it('asks for no more than the request and the context can use, with one token of the target', () => {
    const context = operatorContext(testScheduler());
    const full = decodeRow(runningSequence(context, { prompt: 'a'.repeat(60), output: 'bc', computed: 61 }));
    const ofParams = (maxTokens: number) =>
      decodeRow(runningSequence(context, { output: 'd', computed: 3, params: { maxTokens } }));
    const rows = [ofParams(2), ofParams(3), ofParams(9), full];
    expect(drafted(context, emptyStep({ rows }))).toEqual([
      ['s2', letters('a')],
      ['s3', letters('abc')],
      ['s0', letters('a')],
    ]);
  });

  it('leaves out who has no draft, and cuts what a proposer gives too much', () => {
    const context = operatorContext(testScheduler());
    const rows = [1, 2].map(() => decodeRow(runningSequence(context, { output: 'd', computed: 3 })));
    const proposer = scriptedProposer(({ id }) => (id === 's0' ? [] : letters('abcdef')));
    expect(drafted(context, emptyStep({ rows }), proposer)).toEqual([['s1', letters('abc')]]);
  });

  it('cuts a draft before what is no token', () => {
    const context = operatorContext(testScheduler());
    const rows = [32, -1, 1.5, Number.NaN].map(() => decodeRow(runningSequence(context, { output: 'd', computed: 3 })));
    const stray = [32, -1, 1.5, Number.NaN];
    const proposer = scriptedProposer(({ id }) => {
      const row = Number(id.slice(1));
      return row % 2 === 0 ? [stray[row]!, 5] : [5, stray[row]!, 5];
    });
    expect(drafted(context, emptyStep({ rows }), proposer)).toEqual([
      ['s1', [5]],
      ['s3', [5]],
    ]);
  });

  it('tells the proposer who is still there, in steps without rows too', () => {
    const context = operatorContext(testScheduler());
    const proposer = scriptedProposer((_, count) => letters('abc').slice(0, count));
    const operator = draft(proposer, fixed)(context);
    const [stays, preempted, leaves] = [1, 2, 3].map(() => runningSequence(context, { output: 'd', computed: 3 }));
    of(emptyStep({ rows: [stays!, preempted!, leaves!].map(decodeRow) }))
      .pipe(operator)
      .subscribe();
    expect(proposer.kept.size).toBe(3);
    context.running.splice(2, 1);
    of(emptyStep({ preempted: [preempted!] }))
      .pipe(operator)
      .subscribe();
    expect([...proposer.kept]).toEqual([stays]);
  });

  it('refuses a k that is no count', () => {
    const context = operatorContext(testScheduler());
    expect(() => draft(abc, { k: 0 })(context)).toThrow(RxllmError);
    expect(() => draft(abc, { k: 1.5 })(context)).toThrow(/k: 1\.5/);
  });

  it('emits when the proposer has answered, and lets the next step wait', () => {
    const scheduler = testScheduler();
    scheduler.run(({ cold, expectObservable }) => {
      const context = operatorContext(scheduler);
      const step = emptyStep({ rows: [decodeRow(runningSequence(context, { output: 'd', computed: 3 }))] });
      const proposer = scriptedProposer((_, count) => letters('abc').slice(0, count), { delayMs: 3, scheduler });
      const source = cold('-aa--|', { a: step });
      expectObservable(
        source.pipe(
          draft(proposer, fixed)(context),
          map(({ drafts }) => drafts.size),
        ),
      ).toBe('----1--(1|)', { 1: 1 });
    });
  });

  it('goes on without drafts where the proposer fails, and says so once on stderr', () => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const context = operatorContext(testScheduler());
    const step = emptyStep({ rows: [decodeRow(runningSequence(context, { output: 'd', computed: 3 }))] });
    const broken: ProposerSlot = () => ({ propose: () => throwError(() => new Error('broken')), retain() {} });
    const sizes: number[] = [];
    of(step, step)
      .pipe(draft(broken, fixed)(context))
      .subscribe(({ drafts }) => sizes.push(drafts.size));
    const told = write.mock.calls.map(([text]) => text);
    write.mockRestore();
    expect(sizes).toEqual([0, 0]);
    expect(told).toEqual(['rxllm: a proposer failed, and its step goes on without drafts: Error: broken\n']);
  });

  it('unsubscribes from the proposer and from its source', () => {
    const scheduler = testScheduler();
    scheduler.run(({ cold, hot, expectObservable, expectSubscriptions }) => {
      const context = operatorContext(scheduler);
      const answer = cold<ReadonlyMap<SequenceId, Draft>>('----(l|)');
      const slow: ProposerSlot = () => ({ propose: () => answer, retain() {} });
      const step = emptyStep({ rows: [decodeRow(runningSequence(context, { output: 'd', computed: 3 }))] });
      const source = hot('-a----', { a: step });
      expectObservable(source.pipe(draft(slow, fixed)(context)), '^--!').toBe('----');
      expectSubscriptions(source.subscriptions).toBe('^--!');
      expectSubscriptions(answer.subscriptions).toBe('-^-!');
    });
  });

  it('is well behaved', () => {
    const never: ProposerSlot = () => ({ propose: () => NEVER, retain() {} });
    expectWellBehaved((scheduler) => draft(never)(operatorContext(scheduler)), emptyStep());
  });
});
