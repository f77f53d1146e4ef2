import { concatMap, defer, map, type Observable, of } from 'rxjs';
import type {
  Distribution,
  Draft,
  DraftRequest,
  EngineContext,
  KvAllocator,
  Logits,
  ModelRunner,
  Proposer,
  Sequence,
  SequenceId,
  TokenId,
} from '../contracts/index.ts';
import { toRectangle } from '../runtime/rectangle.ts';
import { createRandom } from '../sampling/random.ts';
import { createDraftChooser, type DraftChooser } from './draft-chooser.ts';
import { acceptedOf } from './draft-counts.ts';

/** Rows share a pass while each has at most so many tokens to compute; one that has more catches up alone. */
const MOST_SHARED = 8;

/** A small model, ready to run, and the cache that is its own. */
export interface DraftRunner {
  readonly runner: ModelRunner;
  readonly kv: KvAllocator;
}

/** What the small model's cache holds of a sequence. */
interface Shadow {
  /** Stands for the sequence in the small model's cache. */
  readonly sequence: Sequence;
  /** How many tokens of the text are computed; those behind them were drafted. */
  base: number;
  /** Drafted tokens that were computed, in order. */
  drafted: readonly TokenId[];
}

/** A row of one round. */
interface Row {
  readonly shadow: Shadow;
  readonly original: Sequence;
  readonly count: number;
  readonly choose: DraftChooser;
  /** The text, and what has been drafted behind it. */
  readonly text: TokenId[];
  readonly distributions: Distribution[];
  /** The tokens that the next pass computes. */
  pending: readonly TokenId[];
}

/**
 * Drafts with a small model: one pass for each drafted token, for all rows together. Before that, each row drops from the
 * small model's cache what was drafted and rejected, and computes the tokens of its text that the small model has not seen.
 */
export class ModelProposer implements Proposer {
  readonly #start: () => DraftRunner;
  readonly #context: EngineContext;
  readonly #random: () => number;
  readonly #shadows = new Map<Sequence, Shadow>();

  /** `start` is called with the first request, when the engine has waited for the small model. */
  constructor(start: () => DraftRunner, context: EngineContext) {
    this.#start = start;
    this.#context = context;
    this.#random = createRandom(Math.floor(context.options.random() * 2 ** 53));
  }

  propose = (requests: readonly DraftRequest[]): Observable<ReadonlyMap<SequenceId, Draft>> =>
    defer(() => {
      const rows = requests.flatMap((request) => this.#row(request));
      return this.#catchUp(rows).pipe(concatMap((ready) => this.#write(ready, 0).pipe(map(() => this.#drafts(ready)))));
    });

  retain = (sequences: ReadonlySet<Sequence>): void => {
    for (const [sequence, shadow] of this.#shadows) {
      if (sequences.has(sequence)) continue;
      this.#start().kv.free(shadow.sequence);
      this.#shadows.delete(sequence);
    }
  };

  /** The row of a sequence that fits into the small model's cache and context. */
  #row({ sequence: original, count: wanted }: DraftRequest): Row[] {
    const { kv } = this.#start();
    const { tokens } = original;
    // The last drafted token is not computed.
    const count = Math.min(wanted, kv.maxSequenceTokens - tokens.length + 1);
    if (count < 1) return [];
    const shadow = this.#shadowOf(original);
    rollBack(shadow, tokens, kv);
    const pending = tokens.slice(shadow.sequence.computed);
    if (kv.reserve(shadow.sequence, pending.length + count - 1) === undefined) return [];
    const choose = createDraftChooser(original, this.#context, this.#random);
    return [{ shadow, original, count, choose, text: [...tokens], distributions: [], pending }];
  }

  /**
   * A row that is far behind computes a chunk of its own, so that no other row is padded to its length. One that is still
   * far behind after that has no draft in this step.
   */
  #catchUp(rows: readonly Row[]): Observable<readonly Row[]> {
    const behind = rows.find(({ pending }) => pending.length > MOST_SHARED);
    if (behind === undefined) return of(rows);
    const most = this.#context.options.maxNumBatchedTokens;
    const chunk = behind.pending.slice(0, Math.min(behind.pending.length - 1, most));
    behind.pending = behind.pending.slice(chunk.length);
    const isReady = behind.pending.length <= MOST_SHARED;
    return this.#forward([behind], [chunk], 0).pipe(
      concatMap(() => this.#catchUp(isReady ? rows : rows.filter((row) => row !== behind))),
    );
  }

  /** One token more for each row that wants one. */
  #write(rows: readonly Row[], drafted: number): Observable<unknown> {
    const writing = rows.filter(({ count }) => count > drafted);
    if (writing.length === 0) return of(undefined);
    const pending = writing.map((row) => row.pending);
    return this.#forward(writing, pending, 1).pipe(
      concatMap(({ data, vocab }) => {
        for (const [i, row] of writing.entries()) {
          const { id, from } = row.choose(data.subarray(i * vocab, (i + 1) * vocab), row.text, drafted);
          row.text.push(id);
          row.pending = [id];
          if (from) row.distributions.push(from);
        }
        return this.#write(writing, drafted + 1);
      }),
    );
  }

  #forward(rows: readonly Row[], ids: readonly (readonly TokenId[])[], wanted: number): Observable<Logits> {
    const batch = rows.map(({ shadow: { sequence } }, i) => ({
      ids: ids[i]!,
      position: sequence.computed,
      blocks: sequence.blocks,
      wanted,
    }));
    return this.#start()
      .runner.forward(toRectangle(batch))
      .pipe(
        map((logits) => {
          for (const [i, { shadow, original, text }] of rows.entries()) {
            const length = shadow.sequence.computed + ids[i]!.length;
            shadow.sequence.computed = length;
            shadow.base = Math.min(length, original.tokens.length);
            shadow.drafted = text.slice(shadow.base, length);
          }
          return logits;
        }),
      );
  }

  #drafts(rows: readonly Row[]): ReadonlyMap<SequenceId, Draft> {
    return new Map(
      rows.map(({ original, text, distributions }) => [
        original.id,
        { tokens: text.slice(original.tokens.length), ...(distributions.length > 0 && { distributions }) },
      ]),
    );
  }

  #shadowOf(original: Sequence): Shadow {
    let shadow = this.#shadows.get(original);
    if (shadow === undefined) {
      const { parent: _, ...rest } = original;
      shadow = { sequence: { ...rest, computed: 0, cached: 0, blocks: [] }, base: 0, drafted: [] };
      this.#shadows.set(original, shadow);
    }
    return shadow;
  }
}

/** Drafted tokens that were rejected leave the small model's cache. */
function rollBack(shadow: Shadow, tokens: readonly TokenId[], kv: KvAllocator): void {
  const { sequence, base, drafted } = shadow;
  // The last token is always computed anew, for its logits.
  sequence.computed = Math.min(base + acceptedOf(drafted, tokens.slice(base)), tokens.length - 1);
  shadow.base = sequence.computed;
  shadow.drafted = [];
  kv.truncate(sequence, sequence.computed);
}
