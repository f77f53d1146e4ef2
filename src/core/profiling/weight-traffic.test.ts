import { describe, expect, it } from 'vitest';
import { fixtureDirectory, modelDirectory } from '../../../test/support/models.ts';
import { llama } from '../graph/llama-graph.ts';
import { exportGraph } from '../graph/prebuilt.ts';
import { primitives } from '../graph/primitive/transformer.ts';
import { quantized } from '../graph/quantized.ts';
import { loadConfigAndWeights } from '../model/load-model.ts';
import { weightTraffic } from './weight-traffic.ts';

const model = await loadConfigAndWeights(modelDirectory('storyteller-draft'));
const { layers, hidden, intermediate, heads, kvHeads, headDim, vocab } = model.config;
/** By hand, from the shapes. */
const matrices = layers * (hidden * (2 * heads + 2 * kvHeads) * headDim + 3 * hidden * intermediate);
const norms = (2 * layers + 1) * hidden;
const table = vocab * hidden;

describe('weightTraffic', () => {
  it('counts float16 weights as the float32 that they become, and a tied table as the head', async () => {
    const expected = {
      layers: 4 * (matrices + norms),
      head: 4 * table,
      embeddingRow: 4 * hidden,
      kernel: 'float32',
    };
    for (const layout of ['none', 'contiguous', 'paged'] as const) {
      expect(weightTraffic(await llama()(model, layout).author('in-place'), model.config)).toEqual(expected);
    }
    expect(weightTraffic(await primitives()(model, 'none').author('returned'), model.config)).toEqual(expected);
    expect(weightTraffic(await exportGraph(model), model.config)).toEqual(expected);
  });

  it('counts codes and scales where weights are quantized', async () => {
    const of = async (options: Parameters<typeof quantized>[0]) =>
      weightTraffic(await quantized(options)(model, 'contiguous').author('in-place'), model.config);
    // Half a byte a weight, and a float32 scale for each 32 of them.
    expect(await of({ bits: 4, groupSize: 32 })).toEqual({
      layers: matrices * (1 / 2 + 4 / 32) + 4 * norms,
      head: table * (1 / 2 + 4 / 32),
      embeddingRow: 4 * hidden,
      kernel: 'int4',
    });
    expect(await of({ bits: 8, groupSize: 32, parts: ['linear', 'embeddings'] })).toEqual({
      layers: matrices * (1 + 4 / 32) + 4 * norms,
      head: 4 * table,
      embeddingRow: hidden * (1 + 4 / 32),
      kernel: 'int8',
    });
    expect((await of({ bits: 8, groupSize: 'channel', kernel: 'row-int8' })).kernel).toBe('row-int8');
  });

  it('counts a head of its own, and biases', async () => {
    const untied = await loadConfigAndWeights(fixtureDirectory('llama-untied-bias-headdim'));
    const traffic = weightTraffic(await llama()(untied, 'paged').author('in-place'), untied.config);
    const bytes = (prefix: string) =>
      [...untied.weights].reduce(
        (sum, [name, { shape }]) => sum + (name.startsWith(prefix) ? 4 * shape.reduce((a, b) => a * b, 1) : 0),
        0,
      );
    expect(untied.config.tiedEmbeddings).toBe(false);
    expect(traffic).toMatchObject({ layers: bytes('model.layers.') + bytes('model.norm'), head: bytes('lm_head') });
  });
});
