import { forkJoin, map, Observable, type OperatorFunction } from 'rxjs';
import type { GenerateResult, TokenEvent, TokenLogprobs } from '../../core/contracts/index.ts';
import { engineEvents } from './engine-events.ts';
import type { Job } from './job.ts';
import { callParser, collectParts, finishReason } from './tool-call-parser.ts';
import { combineMetrics, toUsage, toWireMetrics } from './usage.ts';

/** The JSON reply of a job, but for its frame. Emits once; unsubscribing cancels every choice. */
export function wholeReply(job: Job): Observable<object> {
  const { engine, dialect, requests, echoes, choicesPerPrompt } = job;
  const choices = requests.map((request) => engineEvents(engine, dialect.promptField, request).pipe(collect()));
  return forkJoin(choices).pipe(
    map((collected) => {
      const results = collected.map(({ result }) => result);
      return {
        choices: collected.map(({ result, logprobs }, index) => {
          const parser = callParser(requests[index]!, engine);
          const { text, calls } = collectParts([...parser.push(result.text), ...parser.flush()]);
          const said = { text: (echoes?.[index] ?? '') + text, calls };
          return { index, ...dialect.whole(said, logprobs, finishReason(result.finishReason, parser)) };
        }),
        usage: toUsage(results, choicesPerPrompt),
        metrics: toWireMetrics(combineMetrics(results, choicesPerPrompt)),
      };
    }),
  );
}

interface Collected {
  readonly result: GenerateResult;
  readonly logprobs: readonly TokenLogprobs[] | undefined;
}

/** One operator, for it runs at each token. */
function collect(): OperatorFunction<TokenEvent, Collected> {
  return (events) =>
    new Observable((subscriber) => {
      const logprobs: TokenLogprobs[] = [];
      let result: GenerateResult | undefined;
      return events.subscribe({
        next: (event) => {
          if (event.type === 'token' && event.logprobs !== undefined) logprobs.push(event.logprobs);
          if (event.type === 'finished') result = event.result;
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => {
          if (result === undefined) return subscriber.error(new Error('a stream completed without a finished event'));
          subscriber.next({ result, logprobs: logprobs.length > 0 ? logprobs : undefined });
          subscriber.complete();
        },
      });
    });
}
