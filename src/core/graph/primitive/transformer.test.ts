import { firstValueFrom } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { argmax, logitsRows } from '../../../../test/support/greedy.ts';
import { ARCH_FIXTURES, fixtureDirectory, fixtureGoldens } from '../../../../test/support/models.ts';
import { loadConfigAndWeights } from '../../model/load-model.ts';
import { stock } from '../../runtime/stock-runner.ts';
import type { ModelWeights } from '../llama-graph.ts';
import { primitives } from './transformer.ts';

const pool = { layout: 'none', blocks: 0, blockSize: 0 } as const;

async function fixtureRunner(fixture: string) {
  const model = await loadConfigAndWeights(fixtureDirectory(fixture));
  return stock({ threads: 1 })(primitives()(model, 'none'), model, pool);
}

describe('the graph of primitive operators', () => {
  it.each(ARCH_FIXTURES)('gives the reference’s logits: %s', async (fixture) => {
    const runner = await fixtureRunner(fixture);
    for (const { input_ids: ids, argmax: expected, last_logits: last } of fixtureGoldens(fixture)) {
      const width = ids.length;
      const logitsAt = ids.map((_, index) => index);
      const batch = { rows: 1, width, ids: [ids], positions: [0], blockTables: [[]], logitsAt };
      const rows = logitsRows(await firstValueFrom(runner.forward(batch)));
      expect(rows.map(argmax)).toEqual(expected);
      const largest = Math.max(...last.map(Math.abs));
      const error = Math.max(...last.map((value, id) => Math.abs(value - rows.at(-1)![id]!)));
      expect(error / largest).toBeLessThan(1e-4);
    }
    await runner.dispose();
  });

  it('runs rows of different lengths side by side', async () => {
    const [fixture] = ARCH_FIXTURES;
    const runner = await fixtureRunner(fixture);
    const ids = fixtureGoldens(fixture)
      .map(({ input_ids }) => input_ids)
      .slice(0, 3);
    const width = Math.max(...ids.map((row) => row.length));
    const logitsAt = ids.map((row, index) => index * width + row.length - 1);
    const batch = {
      rows: ids.length,
      width,
      ids,
      positions: ids.map(() => 0),
      blockTables: ids.map(() => []),
      logitsAt,
    };
    const rows = logitsRows(await firstValueFrom(runner.forward(batch)));
    expect(rows.map(argmax)).toEqual(
      fixtureGoldens(fixture)
        .slice(0, 3)
        .map((golden) => golden.argmax.at(-1)),
    );
    await runner.dispose();
  });

  it('refuses a layout with a cache', () => {
    expect(() => primitives()({} as ModelWeights, 'paged')).toThrow(
      expect.objectContaining({ code: 'RXLLM_RECIPE_INVALID' }),
    );
  });
});
