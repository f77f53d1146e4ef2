import { filter, map, type Observable } from 'rxjs';
import type { Engine, GenerateResult, TokenEvent } from '../core/contracts/index.ts';
import type { BenchClient, ClientEvent } from './client.ts';

/** An engine in this process, timed on its own clock. */
export function engineClient(engine: Engine): BenchClient {
  const { clock } = engine.options;
  return {
    clock,
    send: (request): Observable<ClientEvent> =>
      engine.stream(request).pipe(
        filter((event) => event.type === 'token' || event.type === 'finished'),
        map((event: Extract<TokenEvent, { type: 'token' | 'finished' }>): ClientEvent => {
          const at = clock.now();
          return event.type === 'token' ? { type: 'piece', at } : toFinished(event.result, at);
        }),
      ),
  };
}

function toFinished({ metrics, finishReason }: GenerateResult, at: number): ClientEvent {
  const { inputTokens, outputTokens } = metrics;
  return { type: 'finished', at, inputTokens, outputTokens, finishReason };
}
