import { WebSocket } from 'ws';

/** Any message of the server; the fields are those of all of them. */
export interface ServerMessage {
  readonly type: string;
  readonly id?: string;
  readonly text?: string;
  readonly token_id?: number | null;
  readonly logprobs?: unknown;
  readonly finish_reason?: string;
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number };
  readonly code?: string;
  readonly param?: string;
  readonly message?: string;
}

/** A client's end of `/v1/stream`, with all it has received. */
export class TestSocket {
  readonly ws: WebSocket;
  readonly received: ServerMessage[] = [];
  readonly closed: Promise<number>;
  private readonly waiting = new Set<() => void>();
  private readonly listeners = new Map<string, (message: ServerMessage) => void>();

  constructor(address: string, headers: Record<string, string> = {}, protocols: readonly string[] = []) {
    this.ws = new WebSocket(`${address.replace(/^http/, 'ws')}/v1/stream`, [...protocols], { headers });
    this.ws.on('message', (data: Buffer) => {
      const message: ServerMessage = JSON.parse(data.toString());
      const listener = this.listeners.get(message.id ?? '');
      if (listener !== undefined) return listener(message);
      this.received.push(message);
      for (const check of this.waiting) check();
    });
    this.closed = new Promise((resolve) => this.ws.once('close', resolve));
  }

  /** Once it is open; rejects when the upgrade is refused. */
  opened(): Promise<this> {
    return new Promise((resolve, reject) => {
      this.ws.once('open', () => resolve(this));
      this.ws.once('error', reject);
    });
  }

  send(message: object | string | Buffer): void {
    this.ws.send(typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message));
  }

  /** Hands the messages of a stream to a listener, and keeps none of them, until it is told to stop. */
  listen(id: string, listener: (message: ServerMessage) => void): () => void {
    this.listeners.set(id, listener);
    return () => this.listeners.delete(id);
  }

  /** The first message that matches, of those received and those to come. */
  next(matches: (message: ServerMessage) => boolean): Promise<ServerMessage> {
    return new Promise((resolve) => {
      const check = () => {
        const found = this.received.find(matches);
        if (found === undefined) return;
        this.waiting.delete(check);
        resolve(found);
      };
      this.waiting.add(check);
      check();
    });
  }

  /** The last message of a stream. */
  end(id: string): Promise<ServerMessage> {
    return this.next((message) => message.id === id && (message.type === 'finished' || message.type === 'error'));
  }

  of(id: string): ServerMessage[] {
    return this.received.filter((message) => message.id === id);
  }

  /** The pieces of a stream, joined. */
  text(id: string): string {
    return this.of(id)
      .map((message) => (message.type === 'token' ? message.text : ''))
      .join('');
  }

  close(): Promise<number> {
    this.ws.close();
    return this.closed;
  }
}
