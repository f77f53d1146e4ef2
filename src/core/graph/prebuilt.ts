import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelSlot } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { noCacheAttention } from './attention-none.ts';
import { scoreMatrix } from './grouped-attention.ts';
import { llamaGraph, type ModelWeights } from './llama-graph.ts';

/** Stands beside the safetensors, which it points into. */
export const PREBUILT_FILE = 'model.onnx';

/** The graph that `prebuilt` reads: fixed, without a cache, the same bytes for the same folder. */
export function exportGraph(model: ModelWeights): Promise<Uint8Array> {
  return llamaGraph(model, noCacheAttention(scoreMatrix), 'returned');
}

/**
 * A `ModelSlot` that takes the graph as it lies in the model's folder, and so knows nothing of what is in it.
 * Authoring throws RxllmError `RXLLM_RECIPE_INVALID` under a layout with a cache, `RXLLM_MODEL_FILE_MISSING`.
 */
export function prebuilt(): ModelSlot {
  return ({ directory, name }, layout) => ({
    layout,
    weightsDirectory: directory,
    author: () => {
      if (layout !== 'none') {
        throw new RxllmError(
          'RXLLM_RECIPE_INVALID',
          `${PREBUILT_FILE} has no KV cache, but the recipe's kv has layout "${layout}": use noCache(), or model: llama().`,
        );
      }
      try {
        return readFileSync(join(directory, PREBUILT_FILE));
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
        throw new RxllmError(
          'RXLLM_MODEL_FILE_MISSING',
          `The model "${name}" has no ${PREBUILT_FILE}, which this engine runs; write it with \`rxllm export --model DIR\`.`,
          { cause },
        );
      }
    },
  });
}
