import type { GraphSource, KvPool, Model, ModelRunner } from '../contracts/index.ts';

/** A `RuntimeSlot` that needs no more of the model than its config. */
export type ConfigRuntime = (graph: GraphSource, model: Pick<Model, 'config'>, pool: KvPool) => Promise<ModelRunner>;
