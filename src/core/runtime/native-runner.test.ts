import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstValueFrom } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { argmax, batchOf, forward, greedy, logitsRows, type Row, someBlocks } from '../../../test/support/greedy.ts';
import { generationGoldens, modelDirectory, testPool } from '../../../test/support/models.ts';
import type { ForwardBatch, KvLayout, KvPool, ModelRunner } from '../contracts/index.ts';
import { llama } from '../graph/llama-graph.ts';
import { quantized } from '../graph/quantized.ts';
import { loadConfigAndWeights } from '../model/load-model.ts';
import { native } from './native-runner.ts';
import { ortCApi } from './ort-c-api.ts';
import { stock } from './stock-runner.ts';

const model = await loadConfigAndWeights(modelDirectory('storyteller-draft'));
const goldens = generationGoldens('storyteller-draft');
const prompt = (length: number, seed = 1) => Array.from({ length }, (_, i) => 50 + ((i * 37 * seed) % 1000));
const start = (layout: KvLayout, runtime = native, pool = testPool(layout)) =>
  runtime({ threads: 1 })(llama()(model, layout), model, pool);

/** The largest difference over the largest value. */
function relativeError(actual: Float32Array, expected: Float32Array): number {
  const scale = expected.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
  return expected.reduce((max, value, i) => Math.max(max, Math.abs(actual[i]! - value)), 0) / scale;
}

describe.each([
  { name: 'native', runtime: native },
  { name: 'stock', runtime: stock },
])('$name runner', ({ runtime }) => {
  it.each(['paged', 'contiguous'] as const)('%s: rows of all kinds in one batch equal each alone', async (layout) => {
    const runner = await start(layout, runtime);
    const tokens = prompt(50);
    const memory = (i: number) => (layout === 'paged' ? [4 * i + 1, 4 * i + 3, 4 * i + 2, 4 * i + 4] : [i]);
    const [whole] = await forward(runner, [{ blocks: memory(0), start: 0, ids: tokens }]);
    for (const [i, past] of [49, 45, 32].entries()) {
      await forward(runner, [{ blocks: memory(i + 1), start: 0, ids: tokens.slice(0, past) }]);
    }
    // A decode row, a verify row of 5 and a prefill row of 18.
    const rows = [49, 45, 32].map((past, i) => ({ blocks: memory(i + 1), start: past, ids: tokens.slice(past) }));
    const together = await forward(runner, rows);
    for (const logits of together) expect(relativeError(logits, whole!)).toBeLessThan(1e-5);
    await runner.dispose();
  });

  it('contiguous: sequences between the rows of a batch are not harmed', async () => {
    const pool: KvPool = { layout: 'contiguous', blocks: 4, blockSize: 80 };
    const runner = await start('contiguous', runtime, pool);
    const [a, b, c] = [goldens[0]!, goldens[1]!, goldens[5]!];
    const half = Math.floor(b.input_ids.length / 2);
    // Slot 1 is half-way through its prompt and slot 2 is full while a and c decode around them.
    await forward(runner, [{ blocks: [1], start: 0, ids: b.input_ids.slice(0, half) }]);
    const full = prompt(80);
    const [lastOfFull] = await forward(runner, [{ blocks: [2], start: 0, ids: full }]);
    let [forA] = await forward(runner, [{ blocks: [0], start: 0, ids: a.input_ids }]);
    let [forC] = await forward(runner, [{ blocks: [3], start: 0, ids: c.input_ids }]);
    const ids: number[] = [];
    for (let i = 0; i < 16; i++) {
      ids.push(argmax(forA!));
      const rows = [
        { blocks: [3], start: c.input_ids.length + i, ids: [argmax(forC!)] },
        { blocks: [0], start: a.input_ids.length + i, ids: ids.slice(-1) },
      ];
      [forC, forA] = await forward(runner, rows);
    }
    expect(ids).toEqual(a.greedy_ids.slice(0, 16));
    const [forB] = await forward(runner, [{ blocks: [1], start: half, ids: b.input_ids.slice(half) }]);
    const first = argmax(forB!);
    const { ids: more } = await greedy(runner, pool, [...b.input_ids, first], 10, { blocks: [1], chunk: 4 });
    expect([first, ...more]).toEqual(b.greedy_ids.slice(0, 11));
    const [again] = await forward(runner, [{ blocks: [2], start: 79, ids: full.slice(79) }]);
    expect(relativeError(again!, lastOfFull!)).toBeLessThan(1e-5);
    await runner.dispose();
  });
});

describe('native runner', () => {
  it.each(['paged', 'contiguous'] as const)(
    '%s: a decode row has the same bits alone and in a batch',
    async (layout) => {
      const runner = await start(layout);
      const prompts = Array.from({ length: 8 }, (_, i) => prompt(3 + 7 * i, i + 1));
      // Contiguous: slots 1, 0, 4, 3, 7, 6 … with gaps, two of them wider than a span may hold.
      const slots = [1, 0, 4, 3, 9, 8, 2, 6];
      const memory = (i: number) => (layout === 'paged' ? [5 * i + 2, 5 * i + 1, 5 * i + 4, 5 * i + 3] : [slots[i]!]);
      const decodeRow = (i: number): Row => ({ blocks: memory(i), start: prompts[i]!.length, ids: [100 + i] });
      for (const [i, ids] of prompts.entries()) await forward(runner, [{ blocks: memory(i), start: 0, ids }]);
      const alone: Float32Array[] = [];
      for (let i = 0; i < 8; i++) alone.push((await forward(runner, [decodeRow(i)]))[0]!);
      for (let size = 2; size <= 8; size++) {
        const together = await forward(
          runner,
          Array.from({ length: size }, (_, i) => decodeRow(i)),
        );
        expect(together).toEqual(alone.slice(0, size));
      }
      await runner.dispose();
    },
  );

  it('gives logits for the wanted tokens only, and none when none are wanted', async () => {
    const runner = await start('paged');
    const batch = batchOf([{ blocks: [1], start: 0, ids: prompt(9) }]);
    const all = logitsRows(
      await firstValueFrom(runner.forward({ ...batch, logitsAt: batch.ids[0]!.map((_, i) => i) })),
    );
    const some = await firstValueFrom(runner.forward({ ...batch, logitsAt: [2, 8] }));
    expect(some).toMatchObject({ rows: 2, vocab: 8192 });
    expect(relativeError(logitsRows(some)[0]!, all[2]!)).toBeLessThan(1e-5);
    const none = await firstValueFrom(runner.forward({ ...batch, logitsAt: [] }));
    expect(none).toMatchObject({ rows: 0, data: new Float32Array() });
    await runner.dispose();
  });

  it('keeps right over more shapes than it keeps bindings for', async () => {
    const runner = await start('paged');
    const tokens = prompt(60);
    const [expected] = await forward(runner, [{ blocks: [1, 2, 3, 4], start: 0, ids: tokens }]);
    for (let width = 1; width < 60; width++) {
      await forward(runner, [{ blocks: [5, 6, 7, 8], start: 0, ids: tokens.slice(0, width) }]);
    }
    const [again] = await forward(runner, [{ blocks: [5, 6, 7, 8], start: 0, ids: tokens }]);
    expect(again).toEqual(expected);
    await runner.dispose();
  });

  it('runs passes in the order they are subscribed to, and short ones at once', async () => {
    const runner = await start('paged');
    const batch = batchOf([{ blocks: [1, 2, 3], start: 0, ids: prompt(40) }]);
    const order: string[] = [];
    const finished = ['first', 'second', 'third'].map(
      (name) =>
        new Promise<void>((resolve) => {
          runner.forward(batch).subscribe({ next: () => order.push(name), complete: resolve });
        }),
    );
    expect(order).toEqual([]);
    await Promise.all(finished);
    expect(order).toEqual(['first', 'second', 'third']);
    await runner.dispose();
  });
});

describe('cancelling, errors and disposal', () => {
  const longBatch = batchOf([{ blocks: someBlocks(testPool('paged'), 800), start: 0, ids: prompt(800) }]);
  const shortBatch = batchOf([{ blocks: [1], start: 0, ids: [5] }]);
  let runner: ModelRunner;
  beforeAll(async () => {
    runner = await start('paged');
  });
  afterAll(() => runner.dispose());

  it('drops the result of a pass that is unsubscribed from, and runs the next', async () => {
    let emitted = 0;
    const subscription = runner.forward(longBatch).subscribe(() => emitted++);
    const waiting = runner.forward(longBatch).subscribe(() => emitted++);
    const last = firstValueFrom(runner.forward(shortBatch));
    subscription.unsubscribe();
    waiting.unsubscribe();
    expect((await last).rows).toBe(1);
    expect(emitted).toBe(0);
  });

  it.each<[string, Partial<ForwardBatch>]>([
    ['token id 8192', { ids: [[8192]] }],
    ['token id -1', { ids: [[-1]] }],
    ['positions 2048 to 2048', { positions: [2048] }],
    ['needs 2 blocks and has 1', { positions: [16] }],
    ['block 140', { blockTables: [[140]] }],
    ['block 0', { blockTables: [[0]] }],
    ['has 2 tokens in a batch 1 wide', { ids: [[5, 6]] }],
    ['logitsAt 1', { logitsAt: [1] }],
    ['0 × 1', { rows: 0, ids: [], positions: [], blockTables: [], logitsAt: [] }],
  ])('refuses a batch with %s before it reaches the runtime', async (what, wrong) => {
    const failing = firstValueFrom(runner.forward({ ...shortBatch, ...wrong }));
    await expect(failing).rejects.toMatchObject({
      code: 'RXLLM_RUNTIME_FAILED',
      message: expect.stringContaining(what),
    });
    expect((await firstValueFrom(runner.forward(shortBatch))).rows).toBe(1);
  });

  it('refuses a graph that ONNX Runtime cannot read, with its message', async () => {
    const source = { layout: 'paged', weightsDirectory: '.', author: () => Uint8Array.of(1, 2, 3) } as const;
    for (const runtime of [native, stock]) {
      const failing = runtime({ threads: 1 })(source, model, testPool('paged'));
      await expect(failing).rejects.toMatchObject({
        code: 'RXLLM_RUNTIME_FAILED',
        message: expect.stringContaining('ONNX Runtime: '),
      });
    }
  });

  it('lets the event loop turn between the layers of its graph, and while its session is made', async () => {
    let turns = 0;
    let next: NodeJS.Immediate;
    const turn = () => {
      turns += 1;
      next = setImmediate(turn);
    };
    next = setImmediate(turn);
    const graph = await quantized({ bits: 4, groupSize: 32 })(model, 'paged').author('in-place');
    const whileAuthored = turns;
    const api = ortCApi();
    const session = await api.createSession(graph, { threads: 1, spin: false, weightsDirectory: model.directory });
    clearImmediate(next);
    expect(whileAuthored).toBeGreaterThanOrEqual(model.config.layers);
    expect(turns - whileAuthored).toBeGreaterThan(1);
    api.releaseSession(session);
  });

  it('refuses a pool that no memory can hold', async () => {
    const failing = start('paged', native, { layout: 'paged', blocks: 2 ** 40, blockSize: 16 });
    await expect(failing).rejects.toMatchObject({ code: 'RXLLM_OPTION_INVALID', param: 'kvCacheMemoryMiB' });
  });

  it.each([
    { name: 'native', runtime: native },
    { name: 'stock', runtime: stock },
  ])('$name: dispose waits for the running pass, refuses the rest, and may be called twice', async ({ runtime }) => {
    const disposed = await start('paged', runtime);
    const events: string[] = [];
    const watch = (name: string) => ({
      next: () => events.push(`${name} emitted`),
      error: (error: { code: string }) => events.push(`${name} ${error.code}`),
    });
    disposed.forward(longBatch).subscribe(watch('running'));
    disposed.forward(longBatch).subscribe(watch('waiting'));
    const first = disposed.dispose().then(() => events.push('disposed'));
    expect(events).toEqual(['waiting RXLLM_RUNTIME_FAILED']);
    await Promise.all([first, disposed.dispose()]);
    disposed.forward(shortBatch).subscribe(watch('late'));
    expect(events).toEqual([
      'waiting RXLLM_RUNTIME_FAILED',
      'running emitted',
      'disposed',
      'late RXLLM_RUNTIME_FAILED',
    ]);
    await disposed.dispose();
  });
});

it('gives its session back though the reader of its profile throws', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rxllm-profile-'));
  const onEnd = () => {
    throw new Error('no reader');
  };
  const before = ortCApi().live.sessions;
  const profiling = { prefix: join(folder, 'ops'), onRun: () => {}, onEnd };
  const runner = await native({ threads: 1, profiling })(llama()(model, 'paged'), model, testPool('paged'));
  expect(ortCApi().live.sessions).toBe(before + 1);
  await expect(runner.dispose()).rejects.toThrow('no reader');
  expect(ortCApi().live.sessions).toBe(before);
  rmSync(folder, { recursive: true });
});
