import { firstValueFrom } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { argmax, batchOf, greedy, logitsRows, someBlocks } from '../../../test/support/greedy.ts';
import { ARCH_FIXTURES, fixtureDirectory, fixtureGoldens, testPool } from '../../../test/support/models.ts';
import type { KvLayout, KvPool } from '../contracts/index.ts';
import { loadConfigAndWeights } from '../model/load-model.ts';
import { native } from '../runtime/native-runner.ts';
import { stock } from '../runtime/stock-runner.ts';
import { type AttentionVariant, llama } from './llama-graph.ts';
import { decodeModel } from './onnx-schema.ts';

const RUNTIMES = { native, stock };
const LAYOUTS: readonly KvLayout[] = ['paged', 'contiguous', 'none'];

/** The ids up to the first choice that is a near tie, which rounding may decide either way. */
const untilNearTie = (ids: readonly number[], margins: readonly number[]) => {
  const tie = margins.findIndex((margin) => margin < 1e-4);
  return tie < 0 ? ids : ids.slice(0, tie);
};

/** The fixtures have 256 positions; the stock runner copies a contiguous pool whole at each step. */
const poolFor = (layout: KvLayout): KvPool => {
  if (layout === 'contiguous') return { layout, blocks: 3, blockSize: 256 };
  return { ...testPool(layout), blocks: layout === 'none' ? 0 : 20 };
};

describe.each(ARCH_FIXTURES)('%s', async (fixture) => {
  const model = await loadConfigAndWeights(fixtureDirectory(fixture));
  const goldens = fixtureGoldens(fixture);
  const attentions: readonly AttentionVariant[] = ['fused', 'flash'];
  const combinations = (['native', 'stock'] as const).flatMap((runtime) =>
    LAYOUTS.flatMap((layout) => attentions.map((attention) => ({ runtime, layout, attention }))),
  );
  combinations.push({ runtime: 'native', layout: 'contiguous', attention: 'naive' });

  const title = "$runtime, $layout, $attention: the reference's logits and ids";
  it.each(combinations)(title, async ({ runtime, layout, attention }) => {
    const pool = poolFor(layout);
    const runner = await RUNTIMES[runtime]({ threads: 1 })(llama({ attention })(model, layout), model, pool);
    for (const golden of goldens) {
      const { input_ids: ids, last_logits: expected } = golden;
      const blocks = someBlocks(pool, ids.length + golden.greedy_ids.length);
      const all = { ...batchOf([{ blocks, start: 0, ids }]), logitsAt: ids.map((_, i) => i) };
      const logits = logitsRows(await firstValueFrom(runner.forward(all)));
      expect(logits.map(argmax)).toEqual(golden.argmax);

      const largest = Math.max(...expected.map(Math.abs));
      const error = Math.max(...expected.map((value, i) => Math.abs(logits.at(-1)![i]! - value)));
      expect(error / largest).toBeLessThan(1e-3);

      const certain = untilNearTie(golden.greedy_ids, golden.greedy_margins);
      const generated = await greedy(runner, pool, ids, certain.length, { blocks, chunk: 7 });
      expect(generated.ids).toEqual(certain);
    }
    await runner.dispose();
  });
});

describe('the authored graph', async () => {
  const model = await loadConfigAndWeights(fixtureDirectory('llama-sharded'));
  const graph = async (layout: KvLayout, writes: 'in-place' | 'returned') =>
    decodeModel(await llama()(model, layout).author(writes)).graph;
  const names = (values: readonly { readonly name: string }[]) => values.map((value) => value.name);

  it('points at the safetensors files and holds no weights itself', async () => {
    const { initializer } = await graph('paged', 'in-place');
    const external = initializer.filter((tensor) => tensor.dataLocation === 1);
    expect(external).toHaveLength(model.weights.size);
    expect(new Set(external.map((tensor) => tensor.externalData![0]!.value)).size).toBe(3);
    const tables = 2 * 256 * 8 * 4;
    const inside = initializer.reduce((sum, tensor) => sum + (tensor.rawData?.length ?? 0), 0);
    expect(inside).toBeLessThan(tables + 1000);
  });

  it('has the inputs and outputs that runners bind', async () => {
    const pools = ['key_pool_0', 'value_pool_0', 'key_pool_1', 'value_pool_1'];
    const written = pools.map((name) => name.replace('pool', 'pool_out'));
    const paged = await graph('paged', 'in-place');
    expect(names(paged.input).sort()).toEqual(
      ['ids', 'logits_at', 'positions', 'block_table', 'slots', ...pools].sort(),
    );
    expect(names(paged.output)).toEqual([...written, 'logits']);
    expect(names((await graph('paged', 'returned')).output)).toEqual(['new_kv', 'logits']);
    expect(names((await graph('contiguous', 'returned')).output)).toEqual([...written, 'logits']);
    expect(names((await graph('none', 'in-place')).input)).toEqual(['ids', 'logits_at', 'positions']);
    expect(names((await graph('none', 'in-place')).output)).toEqual(['logits']);
  });
});
