import { type Observable, tap } from 'rxjs';
import type { Engine, GenerateResult, TokenEvent } from '../../core/contracts/index.ts';
import type { Instruments, Labels } from './instruments.ts';
import type { TokenTally } from './token-tally.ts';

/** Measures one request at each call, from its events alone, on the engine's clock. */
export function measureRequest(
  { options: { clock } }: Engine,
  instruments: Instruments,
  labels: Labels,
  tally: TokenTally,
) {
  return (events: Observable<TokenEvent>): Observable<TokenEvent> => {
    let arrivedAt = 0;
    let lastTokenAt: number | undefined;
    let queued = false;
    let prefilled = false;
    let tokens = 0;
    const ended = (reason: string) => {
      queued = false;
      instruments.requests.inc({ ...labels, finished_reason: reason });
    };
    const observe = (event: TokenEvent) => {
      switch (event.type) {
        case 'queued':
          queued = true;
          break;
        case 'prefill':
          if (prefilled || event.computed < event.total) break;
          prefilled = true;
          instruments.promptTokens.inc(labels, event.total);
          break;
        case 'preempted':
          instruments.preemptions.inc(labels);
          break;
        case 'token': {
          const now = clock.now();
          if (lastTokenAt === undefined) instruments.firstToken.observe(labels, (now - arrivedAt) / 1000);
          else tally.interval(now - lastTokenAt);
          lastTokenAt = now;
          tokens += 1;
          tally.count(1);
          break;
        }
        case 'finished':
          instruments.endToEnd.observe(labels, (clock.now() - arrivedAt) / 1000);
          observeResult(event.result, instruments, labels);
          // An engine that is one box gives no events between the first and the last.
          if (!prefilled && event.result.outputIds.length > 0) {
            instruments.promptTokens.inc(labels, event.result.metrics.inputTokens);
          }
          if (event.result.outputIds.length > tokens) tally.count(event.result.outputIds.length - tokens);
          ended(event.result.finishReason);
      }
    };
    return events.pipe(
      tap({
        subscribe: () => {
          arrivedAt = clock.now();
        },
        next: observe,
        error: () => {
          // What was refused at the door never was a request.
          if (queued) ended('error');
        },
        finalize: () => {
          if (queued) ended('abort');
        },
      }),
    );
  };
}

function observeResult({ metrics }: GenerateResult, instruments: Instruments, labels: Labels): void {
  const { inputTokens, outputTokens, ttftMs, tpotMs, queueMs } = metrics;
  instruments.promptLength.observe(labels, inputTokens);
  instruments.generationLength.observe(labels, outputTokens);
  if (queueMs !== undefined) instruments.queueTime.observe(labels, queueMs / 1000);
  if (queueMs !== undefined && ttftMs > 0) instruments.prefillTime.observe(labels, (ttftMs - queueMs) / 1000);
  if (tpotMs === 0) return;
  instruments.tokenTime.observe(labels, tpotMs / 1000);
  instruments.decodeTime.observe(labels, (tpotMs * (outputTokens - 1)) / 1000);
}
