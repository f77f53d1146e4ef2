import { describe, expect, it } from 'vitest';
import { argmax, forward } from '../../../test/support/greedy.ts';
import { generationGoldens, modelDirectory, testPool } from '../../../test/support/models.ts';
import { RxllmError } from '../errors.ts';
import { llama } from '../graph/llama-graph.ts';
import { loadConfigAndWeights } from '../model/load-model.ts';
import { autoRuntime } from './auto-runtime.ts';
import { type OrtCApi, ortCApi } from './ort-c-api.ts';
import { selfCheck } from './self-check.ts';

/** The real API with some of its methods replaced. */
const withBroken = (broken: Partial<OrtCApi>): OrtCApi => Object.assign(Object.create(ortCApi()) as OrtCApi, broken);

describe('selfCheck', () => {
  it('passes on the pinned library', async () => {
    await expect(selfCheck(ortCApi())).resolves.toBeUndefined();
  });

  it('refuses another version', async () => {
    const check = selfCheck(withBroken({ version: '1.29.0' }));
    await expect(check).rejects.toMatchObject({
      code: 'RXLLM_RUNTIME_UNAVAILABLE',
      message: expect.stringContaining('1.29.0'),
    });
  });

  it('notices that nothing is written', async () => {
    const check = selfCheck(withBroken({ run: () => {} }));
    await expect(check).rejects.toThrow('ScatterND in place gives wrong numbers');
    const asyncCheck = selfCheck(withBroken({ runAsync: () => Promise.resolve() }));
    await expect(asyncCheck).rejects.toThrow('an asynchronous run gives wrong numbers');
  });
});

describe('autoRuntime', async () => {
  const model = await loadConfigAndWeights(modelDirectory('storyteller-draft'));
  const pool = testPool('paged');
  const [golden] = generationGoldens('storyteller-draft');

  const firstToken = async (runtime: ReturnType<typeof autoRuntime>) => {
    const runner = await runtime(llama()(model, 'paged'), model, pool);
    const [logits] = await forward(runner, [{ blocks: [1, 2], start: 0, ids: golden!.input_ids }]);
    await runner.dispose();
    return { id: argmax(logits!), description: runner.description };
  };

  it('is native where the check passes', async () => {
    const reasons: string[] = [];
    const { id, description } = await firstToken(autoRuntime({ threads: 1, onFallback: (why) => reasons.push(why) }));
    expect(description).toBe('native onnxruntime 1.30.0, 1 thread');
    expect(id).toBe(golden!.greedy_ids[0]);
    expect(reasons).toEqual([]);
  });

  it('falls back to stock where it fails, and says why', async () => {
    const reasons: string[] = [];
    const failing = () => Promise.reject(new RxllmError('RXLLM_RUNTIME_UNAVAILABLE', 'no such luck'));
    const { id, description } = await firstToken(
      autoRuntime({ threads: 1, onFallback: (why) => reasons.push(why), check: failing }),
    );
    expect(description).toBe('stock onnxruntime-node 1.30.0, 1 thread (fallback: no such luck)');
    expect(id).toBe(golden!.greedy_ids[0]);
    expect(reasons).toEqual(['no such luck']);
  });
});
