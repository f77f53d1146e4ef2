import { firstValueFrom } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { operatorContext, runningSequence } from '../../../test/support/context.ts';
import { testScheduler } from '../../../test/support/marbles.ts';
import { alphabet } from '../../../test/support/scripted-engine.ts';
import { letters, toyConfig, toyModel } from '../../../test/support/toy-model.ts';
import type { Sequence } from '../contracts/index.ts';
import { pagedBlocks } from '../memory/paged-blocks.ts';
import { type NextToken, scriptedRunner } from '../runtime/scripted-runner.ts';
import { samplerOf } from '../sampling/sampler-of.ts';
import { ModelProposer } from './model-proposer.ts';

const text = (ids: readonly number[] | undefined) => toyModel.tokenizer.decode(ids ?? []);

/** A proposer over a small model that spells the alphabet on; what it reads must be the text, or the runner refuses. */
function start({
  next = alphabet,
  blocks = 40,
  maxNumBatchedTokens = 16,
}: {
  next?: NextToken;
  blocks?: number;
  maxNumBatchedTokens?: number;
} = {}) {
  const bare = operatorContext(testScheduler());
  const context = { ...bare, options: { ...bare.options, maxNumBatchedTokens } };
  const kv = pagedBlocks({ blocks, blockSize: 4 })(toyModel, context.options);
  const runner = scriptedRunner({ config: toyConfig, pool: kv.pool, next });
  const proposer = new ModelProposer(() => ({ runner, kv }), context);
  const propose = async (count: number, ...sequences: readonly Sequence[]) => {
    const drafts = await firstValueFrom(proposer.propose(sequences.map((sequence) => ({ sequence, count }))));
    kv.checkInvariants();
    return sequences.map(({ id }) => text(drafts.get(id)?.tokens));
  };
  return { context, kv, runner, proposer, propose };
}

describe('ModelProposer', () => {
  it('writes on, a pass a token for all rows together', async () => {
    const { context, runner, propose } = start();
    const [a, b] = [runningSequence(context, { prompt: 'ab' }), runningSequence(context, { prompt: 'klm' })];
    expect(await propose(3, a, b)).toEqual(['cde', 'nop']);
    expect(runner.calls.map(({ ids }) => ids.map(text))).toEqual([
      ['ab', 'klm'],
      ['c', 'n'],
      ['d', 'o'],
    ]);
  });

  it('runs only what is new, and drops what did not stand', async () => {
    const { context, kv, runner, propose } = start();
    const sequence = runningSequence(context, { prompt: 'ab' });
    await propose(3, sequence);
    // c and d stood, then the target went another way.
    sequence.tokens.push(...letters('cdk'));
    expect(await propose(2, sequence)).toEqual(['lm']);
    expect(runner.calls.at(-2)).toMatchObject({ ids: [letters('k')], positions: [4] });
    // All stood, and the target's own token came behind: the last draft was never computed.
    sequence.tokens.push(...letters('lmn'));
    expect(await propose(1, sequence)).toEqual(['o']);
    expect(runner.calls.at(-1)).toMatchObject({ ids: [letters('mn')], positions: [6] });
    // Nothing stood.
    sequence.tokens.push(...letters('x'));
    expect(await propose(1, sequence)).toEqual(['y']);
    expect(kv.used).toBe(3);
  });

  it('catches up on what it has not seen, in passes that no other row is padded for', async () => {
    const { context, runner, propose } = start();
    const [long, short] = ['abcdefghijklmn', 'kl'].map((prompt) => runningSequence(context, { prompt }));
    expect(await propose(1, long!, short!)).toEqual(['o', 'm']);
    expect(runner.calls.map(({ ids }) => ids.map(text))).toEqual([['abcdefghijklm'], ['n', 'kl']]);
  });

  it('takes several steps for a long stretch, and has no draft meanwhile', async () => {
    const { context, runner, propose } = start({ maxNumBatchedTokens: 4 });
    const [long, short] = ['abcdefghijklmn', 'kl'].map((prompt) => runningSequence(context, { prompt }));
    expect(await propose(1, long!, short!)).toEqual(['', 'm']);
    expect(await propose(1, long!)).toEqual(['o']);
    expect(runner.calls.map(({ ids }) => ids.map(text))).toEqual([['abcd'], ['kl'], ['efgh'], ['ijklmn']]);
  });

  it('has no draft where its memory or its context is full', async () => {
    const { context, propose, proposer, kv } = start({ blocks: 4 });
    const [a, b] = [runningSequence(context, { prompt: 'abcdef' }), runningSequence(context, { prompt: 'abcdef' })];
    expect(await propose(2, a, b)).toEqual(['gh', '']);
    expect(await propose(2, runningSequence(context, { prompt: 'a'.repeat(20) }))).toEqual(['']);
    proposer.retain(new Set());
    expect(kv.used).toBe(0);
  });

  it('gives back what it keeps of those who left, and begins anew with who comes back', async () => {
    const { context, kv, runner, proposer, propose } = start();
    const [stays, leaves] = ['ab', 'kl'].map((prompt) => runningSequence(context, { prompt }));
    await propose(2, stays!, leaves!);
    proposer.retain(new Set([stays!]));
    expect(kv.used).toBe(1);
    expect(await propose(1, leaves!)).toEqual(['m']);
    expect(runner.calls.at(-1)).toMatchObject({ ids: [letters('kl')], positions: [0] });
  });

  it('draws with the very numbers that a seeded request will be sampled with', async () => {
    // Any of a and b, as likely as each other.
    const [a, b] = letters('ab') as [number, number];
    const next = () => new Float32Array(32).fill(-99).fill(1, a, b + 1);
    const { context, propose } = start({ next });
    const sequence = runningSequence(context, { prompt: 'ab', params: { temperature: 1, seed: 7 } });
    const [drafted] = await propose(12, sequence);
    const sampler = samplerOf(sequence, context);
    const sampled = Array.from({ length: 12 }, () => sampler.sample(next(), sequence.tokens, 2).id);
    expect(drafted).toBe(text(sampled));
    expect(new Set(drafted)).toEqual(new Set('ab'));
  });

  it('tells what it drew from, for a request without a seed', async () => {
    const next = () => new Float32Array(32).fill(Number.NEGATIVE_INFINITY).fill(0, 3, 7);
    const { context, proposer } = start({ next });
    const sequence = runningSequence(context, { params: { temperature: 1, topK: 4 } });
    const drafts = await firstValueFrom(proposer.propose([{ sequence, count: 2 }]));
    const [first] = drafts.get(sequence.id)!.distributions!;
    expect([...first!.ids]).toEqual(letters('abcd'));
    expect([...first!.probabilities]).toEqual([0.25, 0.25, 0.25, 0.25]);
  });
});
