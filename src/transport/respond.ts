import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  BehaviorSubject,
  concat,
  defer,
  EMPTY,
  forkJoin,
  lastValueFrom,
  map,
  merge,
  mergeMap,
  type Observable,
  of,
  takeUntil,
  toArray,
} from 'rxjs';
import type {
  Engine,
  FinishReason,
  GenerateRequest,
  GenerateResult,
  TokenEvent,
  TokenLogprobs,
} from '../core/contracts/index.ts';
import { clientGone } from './client-gone.ts';
import { sendEvents } from './sse.ts';
import { combineMetrics, toUsage, toWireMetrics } from './usage.ts';

/** How one of OpenAI's two endpoints words a choice; everything else about a reply is the same for both. */
export interface Dialect {
  readonly idPrefix: string;
  readonly object: string;
  readonly chunkObject: string;
  /** The first chunk of a choice, where the endpoint has one. */
  readonly opening?: object;
  /** `offset`: characters of this choice that were sent before. */
  piece(text: string, logprobs: readonly TokenLogprobs[] | undefined, offset: number): object;
  closing(reason: FinishReason): object;
  whole(text: string, logprobs: readonly TokenLogprobs[] | undefined, reason: FinishReason): object;
}

/** One HTTP request: a generation for each choice, ordered by prompt. */
export interface Job {
  readonly engine: Engine;
  readonly dialect: Dialect;
  readonly requests: readonly GenerateRequest[];
  readonly choicesPerPrompt: number;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Seconds since 1970. */
  readonly created: number;
}

/** Runs the job and replies with JSON or with server-sent events. A client that goes away cancels all its choices. */
export async function respond(job: Job, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const frame = (object: string) => ({
    id: `${job.dialect.idPrefix}-${request.id}`,
    object,
    created: job.created,
    model: job.engine.model.name,
  });
  if (job.stream) {
    const demand$ = new BehaviorSubject(true);
    const chunk = frame(job.dialect.chunkObject);
    return sendEvents(reply, chunks(job, demand$).pipe(map((fields) => ({ ...chunk, ...fields }))), demand$);
  }
  const body = await lastValueFrom(wholeReply(job).pipe(takeUntil(clientGone(reply.raw))), { defaultValue: undefined });
  if (body === undefined) return reply.hijack();
  return { ...frame(job.dialect.object), ...body };
}

function wholeReply({ engine, dialect, requests, choicesPerPrompt }: Job): Observable<object> {
  const choices = requests.map((request) => engine.stream(request).pipe(toArray(), map(collect)));
  return forkJoin(choices).pipe(
    map((collected) => {
      const results = collected.map(({ result }) => result);
      return {
        choices: collected.map(({ result, logprobs }, index) => ({
          index,
          ...dialect.whole(result.text, logprobs, result.finishReason),
        })),
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

function collect(events: readonly TokenEvent[]): Collected {
  const last = events.at(-1);
  if (last?.type !== 'finished') throw new Error('a stream completed without a finished event');
  const logprobs = events.flatMap((event) => (event.type === 'token' && event.logprobs ? [event.logprobs] : []));
  return { result: last.result, logprobs: logprobs.length > 0 ? logprobs : undefined };
}

function chunks({ engine, dialect, requests, choicesPerPrompt, includeUsage }: Job, demand$: Observable<boolean>) {
  return defer(() => {
    const results: GenerateResult[] = [];
    let left = requests.length;
    const metrics = () => ({ metrics: toWireMetrics(combineMetrics(results, choicesPerPrompt)) });

    const choices = requests.map((request, index) =>
      engine.stream({ ...request, demand$ }).pipe(
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
            fields.push(dialect.closing(event.result.finishReason));
          }
          return fields;
        }),
      );
    });
}
