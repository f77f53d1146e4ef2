import type { ModelSlot, ProposerSlot, RuntimeSlot, WeightLocation } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { startProposer } from './draft-model.ts';

export interface SelfDraftOptions {
  /** Layers of the target that the copy keeps, in ascending order. Default: all, for a copy that is quantized. */
  readonly layers?: readonly number[];
  /** The copy's graph; one that quantizes makes it cheaper. */
  readonly model?: ModelSlot;
  readonly runtime?: RuntimeSlot;
}

/**
 * The target proposes for itself, with some of its layers left out or its weights quantized (self-speculation, Zhang et
 * al. 2023): a graph of its own over the same weight files, and a cache of its own.
 * @throws RxllmError `RXLLM_OPTION_INVALID` for layers that the target does not have.
 */
export function selfDraft({ layers, ...options }: SelfDraftOptions): ProposerSlot {
  return (context) => {
    const { model } = context;
    const kept = layers ?? Array.from({ length: model.config.layers }, (_, layer) => layer);
    const isAscending = kept.every((layer, i) => Number.isInteger(layer) && layer > (kept[i - 1] ?? -1));
    if (kept.length === 0 || !isAscending || kept.at(-1)! >= model.config.layers) {
      throw new RxllmError(
        'RXLLM_OPTION_INVALID',
        `layers: ${JSON.stringify(kept)} are not ascending layers of ${model.name}, which has 0 to ${model.config.layers - 1}.`,
        { param: 'layers' },
      );
    }
    const config = { ...model.config, layers: kept.length };
    return startProposer(context, options, async () => ({ ...model, config, weights: only(kept, model.weights) }));
  };
}

/** The weights of these layers under the names of layers 0, 1, …, and those of no layer. */
function only(layers: readonly number[], weights: ReadonlyMap<string, WeightLocation>): Map<string, WeightLocation> {
  const renamed = new Map<string, WeightLocation>();
  for (const [name, location] of weights) {
    const [, layer, rest] = /^model\.layers\.(\d+)\.(.+)$/.exec(name) ?? [];
    const at = layers.indexOf(Number(layer));
    if (layer === undefined) renamed.set(name, location);
    else if (at >= 0) renamed.set(`model.layers.${at}.${rest}`, location);
  }
  return renamed;
}
