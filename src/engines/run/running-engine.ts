import type { Observable } from 'rxjs';
import type { EngineFrame, EngineStats, GenerateRequest, TokenEvent } from '../../core/contracts/index.ts';

/** What a started recipe does, whatever its kind; `createEngine` makes an `Engine` of it. */
export interface RunningEngine {
  /** Cold: a subscription is a request, unsubscribing is its cancel. */
  stream(request: GenerateRequest): Observable<TokenEvent>;
  readonly stats$: Observable<EngineStats>;
  watch(everyMs: number): Observable<EngineFrame>;
  /** Refuses what comes, ends what is under way with `abort`, and resolves when nothing runs. */
  stop(): Promise<void>;
}
