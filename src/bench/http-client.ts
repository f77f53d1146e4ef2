import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { concatMap, Observable } from 'rxjs';
import type { FinishReason, Prompt } from '../core/contracts/index.ts';
import type { BenchClient, BenchRequest, ClientEvent } from './client.ts';
import { sseData } from './sse-data.ts';

export interface HttpClientOptions {
  /** Default true. A reply that comes whole tells nothing of when its tokens were there. */
  readonly stream?: boolean;
}

/**
 * An OpenAI-compatible server at `baseUrl` (`http://127.0.0.1:8000`), timed at this end of the socket. Text and token
 * ids go to `/v1/completions`, messages to `/v1/chat/completions`. Errors where the server answers with another status
 * than 200, sends an error event, or ends the stream early.
 *
 * It stands on `node:http`: `fetch` gives up when headers take 5 minutes, as they may in a long queue.
 */
export function httpClient(baseUrl: string, { stream = true }: HttpClientOptions = {}): BenchClient {
  const clock = performance;
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  return {
    clock,
    send: (benchRequest) =>
      post(new URL(pathFor(benchRequest.prompt), baseUrl), toBody(benchRequest, stream), agent).pipe(toEvents(clock)),
  };
}

const pathFor = (prompt: Prompt) => (isMessages(prompt) ? '/v1/chat/completions' : '/v1/completions');
const isMessages = (prompt: Prompt) => typeof prompt === 'object' && typeof prompt[0] === 'object';

interface Body {
  readonly stream?: boolean;
}

function toBody(
  { prompt, params: { maxTokens, temperature, ignoreEos, seed } }: BenchRequest,
  stream: boolean,
): object {
  return {
    ...(isMessages(prompt) ? { messages: prompt } : { prompt }),
    max_tokens: maxTokens,
    temperature,
    // Left out where it changes nothing: not every server knows it.
    ...(ignoreEos && { ignore_eos: true }),
    ...(seed !== undefined && { seed }),
    ...(stream && { stream, stream_options: { include_usage: true } }),
  };
}

/** What the events of the reply say, each as soon as it is here. */
function post(url: URL, body: Body, agent: Agent): Observable<string> {
  return new Observable((subscriber) => {
    const onResponse = (response: IncomingMessage) => {
      response.setEncoding('utf8');
      response.on('error', (error) => subscriber.error(error));
      if (response.statusCode !== 200) {
        return readText(response, (text) =>
          subscriber.error(new Error(`HTTP ${response.statusCode}: ${messageOf(text)}`)),
        );
      }
      if (!body.stream) {
        // A whole reply says in one chunk what the chunks of a stream do.
        return readText(response, (text) => {
          subscriber.next(text);
          subscriber.next('[DONE]');
          subscriber.complete();
        });
      }
      const read = sseData();
      response.on('data', (chunk: string) => {
        for (const data of read(chunk)) subscriber.next(data);
      });
      response.on('end', () => subscriber.complete());
    };
    const headers = { 'content-type': 'application/json' };
    const call: ClientRequest = request(url, { method: 'POST', agent, headers }, onResponse);
    call.on('error', (error) => subscriber.error(error));
    call.end(JSON.stringify(body));
    return () => call.destroy();
  });
}

function readText(response: IncomingMessage, give: (text: string) => void): void {
  let text = '';
  response.on('data', (chunk: string) => {
    text += chunk;
  });
  response.on('end', () => give(text));
}

function messageOf(text: string): string {
  try {
    return (JSON.parse(text) as { error: { message: string } }).error.message;
  } catch {
    return text.slice(0, 200);
  }
}

/** The fields that are read of a chunk, of either endpoint. */
interface Chunk {
  readonly choices?: readonly {
    readonly text?: string;
    readonly delta?: { readonly content?: string | null };
    readonly finish_reason?: FinishReason | null;
  }[];
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
  readonly error?: { readonly message: string };
}

function toEvents(clock: BenchClient['clock']) {
  return (data$: Observable<string>): Observable<ClientEvent> => {
    let finishReason: FinishReason | undefined;
    let usage: Chunk['usage'];
    return data$.pipe(
      concatMap((data): ClientEvent[] => {
        const at = clock.now();
        if (data === '[DONE]') {
          if (finishReason === undefined || !usage) throw new Error('the reply ended without finish_reason or usage');
          const { prompt_tokens: inputTokens, completion_tokens: outputTokens } = usage;
          return [{ type: 'finished', at, inputTokens, outputTokens, finishReason }];
        }
        const chunk = JSON.parse(data) as Chunk;
        if (chunk.error) throw new Error(chunk.error.message);
        usage = chunk.usage ?? usage;
        const [choice] = chunk.choices ?? [];
        finishReason = choice?.finish_reason ?? finishReason;
        return choice?.text || choice?.delta?.content ? [{ type: 'piece', at }] : [];
      }),
    );
  };
}
