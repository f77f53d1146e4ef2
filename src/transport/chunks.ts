import { concat, defer, EMPTY, map, merge, mergeMap, type Observable, of } from 'rxjs';
import type { GenerateResult, TokenEvent } from '../core/contracts/index.ts';
import { engineEvents } from './engine-events.ts';
import type { Dialect, Job } from './job.ts';
import { combineMetrics, toUsage, toWireMetrics } from './usage.ts';

/**
 * The streamed chunks of a job, but for their frame: the choices as they come, then the usage if it was asked for.
 * Metrics stand in the last chunk.
 */
export function chunks(job: Job, demand$: Observable<boolean>): Observable<object> {
  const { engine, dialect, requests, choicesPerPrompt, includeUsage } = job;
  return defer(() => {
    const results: GenerateResult[] = [];
    let left = requests.length;
    const metrics = () => ({ metrics: toWireMetrics(combineMetrics(results, choicesPerPrompt)) });

    const choices = requests.map((request, index) =>
      engineEvents(engine, dialect.promptField, { ...request, demand$ }).pipe(
        choiceFields(dialect, (result) => {
          results[index] = result;
          left -= 1;
        }),
        map((fields) => ({
          choices: [{ index, ...fields }],
          ...(left === 0 && !includeUsage && metrics()),
        })),
      ),
    );
    const usage = defer(() =>
      includeUsage ? of({ choices: [], usage: toUsage(results, choicesPerPrompt), ...metrics() }) : EMPTY,
    );
    return concat(merge(...choices), usage);
  });
}

/** A choice opens with the first event that is not `queued`: until then an error can still have its HTTP status. */
function choiceFields(dialect: Dialect, finished: (result: GenerateResult) => void) {
  return (events: Observable<TokenEvent>): Observable<object> =>
    defer(() => {
      let opened = false;
      let offset = 0;
      return events.pipe(
        mergeMap((event) => {
          if (event.type === 'queued') return EMPTY;
          const fields: object[] = [];
          if (!opened && dialect.opening !== undefined) fields.push(dialect.opening);
          opened = true;
          if (event.type === 'token' && (event.text !== '' || event.logprobs !== undefined)) {
            fields.push(dialect.piece(event.text, event.logprobs && [event.logprobs], offset));
            offset += event.text.length;
          }
          if (event.type === 'finished') {
            finished(event.result);
            // An engine that is one box gives no tokens, only its result.
            const rest = event.result.text.slice(offset);
            if (rest !== '') fields.push(dialect.piece(rest, undefined, offset));
            fields.push(dialect.closing(event.result.finishReason));
          }
          return fields;
        }),
      );
    });
}
