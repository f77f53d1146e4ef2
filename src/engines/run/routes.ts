import type { Subscriber } from 'rxjs';
import type { Sequence, SequenceId, Settled, TokenEvent } from '../../core/contracts/index.ts';
import { RxllmError } from '../../core/errors.ts';

interface Route {
  readonly sequence: Sequence;
  readonly reader: Subscriber<TokenEvent>;
}

/** Who reads which sequence: the way that events and errors take from a step to the readers. */
export class Routes {
  readonly #routes = new Map<SequenceId, Route>();

  /** @throws RxllmError `RXLLM_INVALID_REQUEST` where the id is taken */
  checkFree(id: SequenceId): void {
    if (!this.#routes.has(id)) return;
    throw new RxllmError('RXLLM_INVALID_REQUEST', `id: a request "${id}" is under way; give another id.`, {
      param: 'id',
    });
  }

  add(sequence: Sequence, reader: Subscriber<TokenEvent>): void {
    this.#routes.set(sequence.id, { sequence, reader });
  }

  find(id: SequenceId): Sequence | undefined {
    return this.#routes.get(id)?.sequence;
  }

  /** Of the moment: it may change while the caller goes through it. */
  sequences(): readonly Sequence[] {
    return Array.from(this.#routes.values(), ({ sequence }) => sequence);
  }

  /** Nothing reaches its reader any more. The id may be another's by now, which keeps it. */
  forget(sequence: Sequence): void {
    if (this.find(sequence.id) === sequence) this.#routes.delete(sequence.id);
  }

  /** Hands a settled step's events, and the errors of single sequences, to their readers. */
  deliver({ events, failed }: Settled): void {
    for (const [id, toSend] of events) this.send(id, toSend);
    for (const [id, error] of failed) this.#sendError(id, error);
  }

  /** A route ends before its reader hears the last of it, for that one may ask again at once under the same id. */
  send(id: SequenceId, events: readonly TokenEvent[]): void {
    const route = this.#routes.get(id);
    if (route === undefined) return;
    for (const event of events) {
      if (event.type === 'finished') this.forget(route.sequence);
      route.reader.next(event);
      if (event.type === 'finished') route.reader.complete();
    }
  }

  /** To the reader of this very sequence, if it has one. */
  sendError(sequence: Sequence, error: unknown): void {
    if (this.find(sequence.id) === sequence) this.#sendError(sequence.id, error);
  }

  #sendError(id: SequenceId, error: unknown): void {
    const route = this.#routes.get(id);
    if (route === undefined) return;
    this.#routes.delete(id);
    route.reader.error(error);
  }
}
