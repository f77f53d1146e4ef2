import { Subscription } from 'rxjs';
import type { GenerateRequest } from '../../core/contracts/index.ts';
import { RxllmError } from '../../core/errors.ts';
import { checkModel, type EngineSource, readyEngine } from '../engine-source.ts';
import { HttpError } from '../errors.ts';
import { engineEvents } from '../openai/engine-events.ts';
import { chatGeneration, promptGeneration } from '../openai/generation-request.ts';
import type { Sender } from './bounded-sender.ts';
import type { ClientMessage } from './client-message.ts';
import { toServerMessage } from './server-message.ts';

export interface SocketStreams {
  /** @throws RxllmError, HttpError what the client is to be told; its other streams go on */
  handle(message: ClientMessage): void;
  /** Refuses new streams from now on. */
  drain(): void;
  /** Ends all streams without a word: nobody reads any more. */
  cancelAll(): void;
}

export interface SocketStreamsOptions {
  readonly source: EngineSource;
  readonly sender: Sender;
  readonly maxStreams: number;
  /** What the client is told of an error. */
  readonly errorMessage: (error: unknown, id: string) => object;
  /** Called once, when `drain` was called and no stream is left. */
  readonly onDrained: () => void;
}

/** The generations of one socket, each under the id that its client gave it. */
export function socketStreams(options: SocketStreamsOptions): SocketStreams {
  const { source, sender, maxStreams, errorMessage, onDrained } = options;
  const streams = new Map<string, Subscription>();
  let draining = false;

  const end = (id: string, lastMessage?: object) => {
    if (lastMessage !== undefined) sender.send(lastMessage);
    streams.delete(id);
    if (draining && streams.size === 0) onDrained();
  };

  const generate = (message: Extract<ClientMessage, { type: 'generate' }>) => {
    const { id, fields } = message;
    if (draining)
      throw new RxllmError('RXLLM_ENGINE_CLOSED', 'The server is shutting down; send the request elsewhere.');
    if (streams.has(id)) throw invalidId(`a stream "${id}" is under way on this socket; give another id`);
    if (streams.size >= maxStreams) {
      const message = `This socket has ${maxStreams} streams under way, the most it may have; wait, or open another.`;
      throw new HttpError(429, 'too_many_streams', message);
    }
    const engine = readyEngine(source);
    checkModel(engine, fields.model);
    const request: GenerateRequest =
      message.from === 'messages'
        ? chatGeneration(message.fields, engine)
        : promptGeneration(message.fields, message.fields.prompt, engine);
    const { tokenizer } = engine.model;
    const life = new Subscription();
    let shown = 0;
    // Before the subscription: an engine may emit, and even end, while it is subscribed to.
    streams.set(id, life);
    life.add(
      engineEvents(engine, message.from, { ...request, demand$: sender.demand$ }).subscribe({
        next: (event) => {
          if (event.type === 'token') shown += event.text.length;
          // An engine that is one box gives no tokens, only its result.
          const rest = event.type === 'finished' ? event.result.text.slice(shown) : '';
          if (rest !== '') sender.send({ type: 'token', id, text: rest, token_id: null });
          const reply = toServerMessage(id, event, tokenizer);
          if (reply !== undefined) sender.send(reply);
        },
        error: (error: unknown) => end(id, errorMessage(error, id)),
        complete: () => end(id),
      }),
    );
  };

  return {
    handle: (message) => {
      if (message.type === 'generate') return generate(message);
      // Silent, also for the stream that ends: its client asked for no more. One that is unknown has just finished, most likely: nothing to tell.
      streams.get(message.id)?.unsubscribe();
      if (streams.has(message.id)) end(message.id);
    },
    drain: () => {
      draining = true;
      if (streams.size === 0) onDrained();
    },
    cancelAll: () => {
      for (const stream of streams.values()) stream.unsubscribe();
      streams.clear();
    },
  };
}

function invalidId(problem: string): RxllmError {
  return new RxllmError('RXLLM_INVALID_REQUEST', `id: ${problem}.`, { param: 'id' });
}
