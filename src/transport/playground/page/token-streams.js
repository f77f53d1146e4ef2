import { apiKey } from './server.js';

/**
 * @typedef {object} Finished what a stream came to, as `server-message.ts` has it
 * @property {string} finish_reason
 * @property {{ prompt_tokens: number, completion_tokens: number, prompt_tokens_details: { cached_tokens: number } }} usage
 * @property {{ throughput: number, ttft_ms?: number, tpot_ms?: number, acceptance_rate?: number }} metrics
 *
 * @typedef {object} Reader
 * @property {(text: string) => void} [onToken]
 * @property {(finished: Finished) => void} [onFinished]
 * @property {(message: string) => void} [onError]
 */

/** Many streams on one WebSocket, which is opened when it is needed. */
export class TokenStreams {
  /** @type {WebSocket | undefined} */
  #socket;
  /** @type {Map<string, Reader>} */
  #readers = new Map();
  #started = 0;

  /**
   * Begins a stream; what is returned cancels it, and its reader hears no more.
   * @param {object} fields of the `generate` message
   * @param {Reader} reader
   * @returns {() => void}
   */
  generate(fields, reader) {
    const id = String(++this.#started);
    this.#readers.set(id, reader);
    this.#send({ type: 'generate', id, ...fields });
    return () => {
      if (this.#readers.delete(id)) this.#send({ type: 'cancel', id });
    };
  }

  /** @param {object} message */
  #send(message) {
    this.#socket ??= this.#open();
    const socket = this.#socket;
    const text = JSON.stringify(message);
    if (socket.readyState === WebSocket.OPEN) socket.send(text);
    else socket.addEventListener('open', () => socket.send(text), { once: true });
  }

  #open() {
    const socket = new WebSocket(new URL('/v1/stream', location.href.replace(/^http/, 'ws')), protocols());
    socket.addEventListener('message', ({ data }) => this.#receive(JSON.parse(data)));
    socket.addEventListener('close', () => {
      this.#socket = undefined;
      const readers = [...this.#readers.values()];
      this.#readers.clear();
      for (const { onError } of readers) onError?.('The connection to the server was lost.');
    });
    return socket;
  }

  /** @param {{ type: string, id: string, text: string, message: string } & Finished} message */
  #receive(message) {
    const reader = this.#readers.get(message.id);
    if (reader === undefined) return;
    if (message.type === 'token') return reader.onToken?.(message.text);
    if (message.type === 'queued') return;
    this.#readers.delete(message.id);
    if (message.type === 'finished') reader.onFinished?.(message);
    else reader.onError?.(message.message);
  }
}

/** A page cannot set headers on a WebSocket: the key goes as a subprotocol. */
function protocols() {
  const key = apiKey();
  if (key === null) return ['rxllm'];
  const base64url = btoa(key).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  return ['rxllm', `rxllm.bearer.${base64url}`];
}
