import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { GrammarMatcher } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { type GrammarSource, tooLarge } from './grammar-source.ts';
import { invalidFormat } from './refusals.ts';
import { threadEntry } from './thread-entry.ts';
import { ThreadMatcher } from './thread-matcher.ts';
import type { FromThread, PackedVocabulary, ThreadData, ToThread } from './thread-messages.ts';

/** Time is counted in such steps, so that what a process slept through (a suspended machine) does not count. */
const TICK_MS = 50;

/**
 * A thread that holds one compiled grammar and the matchers of the texts that follow it. What XGrammar compiles cannot be
 * sent from one thread to another, and takes from milliseconds to minutes: so each grammar has its own, which nobody else
 * waits for, and which can be ended in the middle of its work. About 20 MB.
 */
export class GrammarThread {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #matchers = new Map<number, ThreadMatcher>();
  #opened = 0;
  #awaited = 0;
  #settleCompile: ((outcome: RxllmError | undefined) => void) | undefined;
  #broken: RxllmError | undefined;

  constructor(vocabulary: PackedVocabulary) {
    const { port1, port2 } = new MessageChannel();
    const workerData: ThreadData = { port: port2, vocabulary };
    this.#port = port1;
    this.#worker = new Worker(threadEntry(), {
      workerData,
      transferList: [port2],
      execArgv: [],
    });
    this.#worker.on('error', (error) => this.#break(`its thread failed: ${error.message}`));
    this.#worker.on('exit', () => this.#break('its thread has ended'));
    this.#port.on('message', (message: FromThread) => this.#receive(message));
    // A process ends when nothing but idle grammars is left.
    this.#worker.unref();
    this.#port.unref();
  }

  /** Once, before the first matcher. Rejects with `RXLLM_GRAMMAR_INVALID`, `RXLLM_GRAMMAR_TOO_LARGE`; the thread is then of no use. */
  async compile(source: GrammarSource, timeoutMs: number): Promise<void> {
    const release = this.#hold();
    let left = timeoutMs;
    const timer = setInterval(() => {
      left -= TICK_MS;
      if (left > 0) return;
      this.#settleCompile?.(tooLarge(`it took more than ${timeoutMs / 1000} s to compile`, source.type));
    }, TICK_MS);
    try {
      await new Promise<void>((resolve, reject) => {
        this.#settleCompile = (problem) => (problem === undefined ? resolve() : reject(problem));
        if (this.#broken) reject(this.#broken);
        this.#send({ type: 'compile', source });
      });
    } finally {
      clearInterval(timer);
      this.#settleCompile = undefined;
      release();
    }
  }

  /** At the beginning of a text; `onDispose` is told when it is disposed of. */
  matcher(onDispose: () => void): GrammarMatcher {
    const id = this.#opened++;
    const matcher = new ThreadMatcher({
      accept: (token) => this.#send({ type: 'accept', matcher: id, id: token }),
      poll: () => this.#poll(),
      hold: () => this.#hold(),
      dispose: () => {
        this.#matchers.delete(id);
        this.#send({ type: 'close', matcher: id });
        onDispose();
      },
    });
    this.#matchers.set(id, matcher);
    this.#send({ type: 'open', matcher: id });
    if (this.#broken) matcher.fail(this.#broken);
    return matcher;
  }

  get isBroken(): boolean {
    return this.#broken !== undefined;
  }

  terminate(): void {
    this.#break('its thread was ended');
    this.#port.close();
    void this.#worker.terminate();
  }

  #send(message: ToThread): void {
    if (this.#broken === undefined) this.#port.postMessage(message);
  }

  /** Takes in what has arrived, without waiting for the event loop to turn. */
  #poll(): void {
    for (let got = receiveMessageOnPort(this.#port); got; got = receiveMessageOnPort(this.#port))
      this.#receive(got.message);
  }

  #receive(message: FromThread): void {
    switch (message.type) {
      case 'compiled':
        this.#settleCompile?.(undefined);
        break;
      case 'refused':
        this.#settleCompile?.(invalidFormat(`it cannot be compiled: ${message.problem}.`));
        break;
      case 'barren':
        this.#settleCompile?.(invalidFormat('no text fits it, for not even a first token can come.'));
        break;
      case 'stuck':
        this.#matchers
          .get(message.matcher)
          ?.fail(invalidFormat('the text is at a place where its grammar lets none go on.'));
        break;
      case 'mask':
        this.#matchers.get(message.matcher)?.receive(message.mask);
        break;
      case 'broken':
        this.#matchers.get(message.matcher)?.fail(failed(message.problem));
        break;
    }
  }

  #break(problem: string): void {
    if (this.#broken) return;
    this.#broken = failed(problem);
    this.#settleCompile?.(this.#broken);
    for (const matcher of this.#matchers.values()) matcher.fail(this.#broken);
  }

  /** Keeps the process alive while someone waits for the thread; returns how to let go. */
  #hold(): () => void {
    this.#awaited += 1;
    this.#port.ref();
    return () => {
      this.#awaited -= 1;
      if (this.#awaited === 0) this.#port.unref();
    };
  }
}

function failed(problem: string): RxllmError {
  return new RxllmError('RXLLM_RUNTIME_FAILED', `The grammar of the reply cannot be followed: ${problem}.`);
}
