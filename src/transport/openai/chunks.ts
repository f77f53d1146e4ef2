import { concat, defer, EMPTY, map, merge, mergeMap, type Observable, of } from 'rxjs';
import type { GenerateResult, TokenEvent, TokenLogprobs } from '../../core/contracts/index.ts';
import { engineEvents } from './engine-events.ts';
import type { Job } from './job.ts';
import { callParser, finishReason, type TextPart } from './tool-call-parser.ts';
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
        choiceFields(job, index, (result) => {
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
function choiceFields(job: Job, index: number, finished: (result: GenerateResult) => void) {
  const { dialect, engine, requests, echoes } = job;
  return (events: Observable<TokenEvent>): Observable<object> =>
    defer(() => {
      const parser = callParser(requests[index]!, engine);
      let opened = false;
      /** Characters that the engine has given, and those that were sent as text. */
      let shown = 0;
      let offset = 0;

      const toFields = (part: TextPart, logprobs: readonly TokenLogprobs[] | undefined): object => {
        if (part.type !== 'text') return dialect.callPiece!(part, logprobs);
        const fields = dialect.piece(part.text, logprobs, offset);
        offset += part.text.length;
        return fields;
      };
      const say = (parts: readonly TextPart[], logprobs?: TokenLogprobs): object[] => {
        const said = parts.length === 0 && logprobs ? [{ type: 'text', text: '' } as const] : parts;
        return said.map((part, at) => toFields(part, at === 0 && logprobs ? [logprobs] : undefined));
      };
      return events.pipe(
        mergeMap((event) => {
          if (event.type === 'queued') return EMPTY;
          const fields: object[] = [];
          if (!opened && dialect.opening !== undefined) fields.push(dialect.opening);
          if (!opened && echoes?.[index]) fields.push(...say([{ type: 'text', text: echoes[index] }]));
          opened = true;
          if (event.type === 'token') {
            shown += event.text.length;
            fields.push(...say(parser.push(event.text), event.logprobs));
          }
          if (event.type === 'finished') {
            const { result } = event;
            finished(result);
            // An engine that is one box gives no tokens, only its result.
            fields.push(...say(parser.push(result.text.slice(shown))), ...say(parser.flush()));
            fields.push(dialect.closing(finishReason(result.finishReason, parser)));
          }
          return fields;
        }),
      );
    });
}
