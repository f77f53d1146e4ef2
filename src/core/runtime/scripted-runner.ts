import { asyncScheduler, Observable, type SchedulerLike, type Subscriber } from 'rxjs';
import type {
  BlockCopy,
  ForwardBatch,
  KvPool,
  Logits,
  ModelConfig,
  ModelRunner,
  RuntimeSlot,
  TokenId,
} from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { ScriptedPool } from './scripted-pool.ts';

/** High enough to win, low enough that a logit bias of 100 wins over it and one of -100 forbids it. */
const CHOSEN = 50;
/** `calls` keeps the latest of them, so that a server can run on a script for as long as it likes. */
const CALLS_KEPT = 10_000;

export interface ScriptedCall {
  /** Of the forward pass, from 0. */
  readonly index: number;
}

/** The next token after `history`, or its logits `[vocab]`. */
export type NextToken = (history: readonly TokenId[], call: ScriptedCall) => TokenId | Float32Array;

export interface Script {
  readonly next: NextToken;
  /** How long a pass takes; 0, the default, emits during the call to subscribe. */
  readonly delayMs?: number | ((batch: ForwardBatch) => number);
  /** Anything but undefined is the cause of that pass's failure. */
  readonly fail?: (callIndex: number, batch: ForwardBatch) => unknown;
  /** Times the delays; a TestScheduler makes them virtual. */
  readonly clock?: SchedulerLike;
}

export interface ScriptedRunnerOptions extends Script {
  readonly config: ModelConfig;
  readonly pool: KvPool;
}

export interface ScriptedRunner extends ModelRunner {
  /** A copy of the batch of each pass that ran, in order; the latest 10,000. */
  readonly calls: readonly ForwardBatch[];
}

/**
 * A model runner without a model, for tests and behind the real server: it keeps token ids where a model keeps keys
 * and values, and asks a script for what comes next. Logits of a pass turn to NaN when the next one starts, so that
 * whoever reads them too late notices.
 */
export function scriptedRunner(options: ScriptedRunnerOptions): ScriptedRunner {
  return new Scripted(options);
}

/** The runtime slot for scripted runners; `runners` are those it has made, in order. */
export function scriptedRuntime(script: Script): RuntimeSlot & { readonly runners: readonly ScriptedRunner[] } {
  const runners: ScriptedRunner[] = [];
  const slot: RuntimeSlot = async (_graph, { config }, pool) => {
    const runner = scriptedRunner({ ...script, config, pool });
    runners.push(runner);
    return runner;
  };
  return Object.assign(slot, { runners });
}

interface Pass {
  readonly batch: ForwardBatch;
  readonly subscriber: Subscriber<Logits>;
}

class Scripted implements ScriptedRunner {
  readonly config: ModelConfig;
  readonly description = 'scripted, no model';
  readonly calls: ForwardBatch[] = [];
  readonly #script: Script;
  readonly #pool: ScriptedPool;
  readonly #clock: SchedulerLike;
  readonly #waiting: Pass[] = [];
  #logits = new Float32Array(0);
  #index = 0;
  #running = false;
  #disposed = false;
  #whenIdle: (() => void)[] = [];

  constructor({ config, pool, ...script }: ScriptedRunnerOptions) {
    this.config = config;
    this.#script = script;
    this.#pool = new ScriptedPool(pool);
    this.#clock = script.clock ?? asyncScheduler;
  }

  forward(batch: ForwardBatch): Observable<Logits> {
    return new Observable((subscriber) => {
      this.#waiting.push({ batch, subscriber });
      this.#startNext();
    });
  }

  copyBlocks(copies: readonly BlockCopy[]): void {
    if (this.#running) throw new Error('blocks are copied during a forward pass');
    this.#pool.copy(copies);
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    if (this.#running) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  #startNext(): void {
    while (!this.#running) {
      const pass = this.#waiting.shift();
      if (!pass) break;
      if (pass.subscriber.closed) continue;
      if (this.#disposed) {
        pass.subscriber.error(new RxllmError('RXLLM_RUNTIME_FAILED', 'The runner is disposed: create a new engine.'));
      } else {
        this.#start(pass);
      }
    }
  }

  /** What the pass gives, or how it fails, is told when its time is over. */
  #start({ batch, subscriber }: Pass): void {
    this.#running = true;
    const index = this.#index++;
    this.calls.push(copyOf(batch));
    if (this.calls.length > CALLS_KEPT) this.calls.shift();
    let delay = 0;
    let deliver: () => void;
    try {
      delay = this.#delay(batch);
      const logits = this.#run(index, batch);
      deliver = () => subscriber.next(logits);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      const error = new RxllmError('RXLLM_RUNTIME_FAILED', `Forward pass ${index} failed: ${reason}.`, { cause });
      deliver = () => subscriber.error(error);
    }
    const finish = () => {
      // Still running while the reader looks at the logits: a pass that it asks for must not overwrite them.
      deliver();
      this.#running = false;
      subscriber.complete();
      for (const resolve of this.#whenIdle.splice(0)) resolve();
    };
    if (delay === 0) {
      finish();
    } else {
      this.#clock.schedule(() => {
        finish();
        this.#startNext();
      }, delay);
    }
  }

  #delay(batch: ForwardBatch): number {
    const { delayMs = 0 } = this.#script;
    return typeof delayMs === 'number' ? delayMs : delayMs(batch);
  }

  #run(index: number, batch: ForwardBatch): Logits {
    const { vocab } = this.config;
    const rows = batch.logitsAt.length;
    const failure = this.#script.fail?.(index, batch);
    if (failure !== undefined) throw failure;
    this.#logits.fill(Number.NaN);
    if (this.#logits.length < rows * vocab) this.#logits = new Float32Array(rows * vocab);
    this.#pool.write(batch);
    batch.logitsAt.forEach((at, row) => {
      const history = this.#pool.history(batch, Math.floor(at / batch.width), at % batch.width);
      const next = this.#script.next(history, { index });
      const logits = this.#logits.subarray(row * vocab, (row + 1) * vocab);
      if (typeof next !== 'number') {
        if (next.length !== vocab) throw new Error(`the script gives ${next.length} logits, not ${vocab}`);
        logits.set(next);
      } else {
        if (!(next in logits)) throw new Error(`the script gives token ${next}, not of the vocabulary of ${vocab}`);
        logits.fill(0)[next] = CHOSEN;
      }
    });
    return { rows, vocab, data: this.#logits.subarray(0, rows * vocab) };
  }
}

function copyOf(batch: ForwardBatch): ForwardBatch {
  return {
    ...batch,
    ids: batch.ids.map((ids) => [...ids]),
    positions: [...batch.positions],
    blockTables: batch.blockTables.map((table) => [...table]),
    logitsAt: [...batch.logitsAt],
  };
}
