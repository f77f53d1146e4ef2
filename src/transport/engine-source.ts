import type { Engine } from '../core/contracts/index.ts';
import { HttpError } from './errors.ts';

/** Where a plugin finds the engine: asked anew for each request, so that the engine may come late and be swapped. */
export interface EngineSource {
  /** undefined while it is loading. */
  engine(): Engine | undefined;
}

/** @throws HttpError 503 while the engine is loading */
export function readyEngine(source: EngineSource): Engine {
  const engine = source.engine();
  if (engine === undefined) {
    throw new HttpError(503, 'engine_loading', 'The model is still loading; ask again when /health answers 200.');
  }
  return engine;
}

/** @throws HttpError 404 when the client asks for a model that is not served */
export function checkModel(engine: Engine, name: string | undefined): void {
  if (name === undefined || name === engine.model.name) return;
  throw new HttpError(
    404,
    'model_not_found',
    `The model "${name}" is not served here; use "${engine.model.name}", or leave the field out.`,
    'model',
  );
}
