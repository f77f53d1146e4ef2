import { defer, map, type OperatorFunction } from 'rxjs';
import type {
  BlockId,
  Engine,
  EngineFrame,
  EngineStats,
  SequenceId,
  SequenceTrace,
} from '../../core/contracts/index.ts';
import { toWireMetrics } from '../openai/usage.ts';
import type { BlockMessage, EngineMessage, FrameMessage, SequenceMessage } from './observe-messages.ts';

/** More than these are not shown: nobody could tell them apart. */
const MOST_WAITING = 32;
const MOST_BLOCKS = 4096;

export function toEngineMessage({ name, model, description, pool }: Engine): EngineMessage {
  const { layout, blocks, blockSize } = pool;
  return {
    type: 'engine',
    engine: name,
    model: model.name,
    runtime: description,
    kv: { layout, blocks: Math.min(blocks, MOST_BLOCKS), block_size: blockSize },
  };
}

/**
 * Frames as messages to one client: short numbers for its sequences, and of the blocks only those that are another's.
 *
 *     frames:             --f----f--
 *     toFrameMessages():  --m----m--   (m: less than f, by what f before it told)
 */
export function toFrameMessages(): OperatorFunction<[EngineFrame, EngineStats | undefined], FrameMessage> {
  return (frames$) =>
    defer(() => {
      const numbers = new Numbers();
      let shown: Blocks = new Map();
      return frames$.pipe(
        map(([{ steps, running, waiting, kv }, stats]): FrameMessage => {
          const toSequence = toSequenceMessage(numbers);
          const blocks = blocksOf(kv, numbers);
          const message: FrameMessage = {
            type: 'frame',
            steps: steps.map(({ index, rows, preempted, firstTokens, finished }) => ({
              index,
              rows: rows.map(({ id, kind, tokens, drafted, accepted }) => {
                return [numbers.of(id), kind, tokens, drafted, accepted] as const;
              }),
              preempted: preempted.map((id) => numbers.of(id)),
              ttft_ms: firstTokens.map(({ ttftMs }) => Number(ttftMs.toFixed(2))),
              finished: finished.map(({ id, reason, metrics }) => {
                return { sequence: numbers.of(id), reason, metrics: toWireMetrics(metrics) };
              }),
            })),
            running: running.map(toSequence),
            waiting: waiting.slice(0, MOST_WAITING).map(toSequence),
            blocks: changes(shown, blocks),
            stats: stats === undefined ? null : toStatsMessage(stats),
          };
          shown = blocks;
          numbers.keep([...running, ...waiting].map(({ id }) => id));
          return message;
        }),
      );
    });
}

/** Of the sequences under way. */
class Numbers {
  readonly #numbers = new Map<SequenceId, number>();
  #given = 0;

  of(id: SequenceId): number {
    let number = this.#numbers.get(id);
    if (number === undefined) {
      number = ++this.#given;
      this.#numbers.set(id, number);
    }
    return number;
  }

  /** Forgets all others. */
  keep(ids: readonly SequenceId[]): void {
    const kept = new Set(ids);
    for (const id of this.#numbers.keys()) if (!kept.has(id)) this.#numbers.delete(id);
  }
}

const toSequenceMessage =
  (numbers: Numbers) =>
  ({ id, phase, promptLength, length, computed, cached }: SequenceTrace): SequenceMessage => ({
    sequence: numbers.of(id),
    paused: phase === 'paused',
    prompt: promptLength,
    length,
    computed,
    cached,
  });

/** Those that are not free. */
type Blocks = Map<BlockId, 'cached' | number[]>;

function blocksOf({ tables, cached }: EngineFrame['kv'], numbers: Numbers): Blocks {
  const blocks: Blocks = new Map();
  for (const block of cached) if (block < MOST_BLOCKS) blocks.set(block, 'cached');
  for (const [id, table] of tables) {
    for (const block of table) {
      if (block >= MOST_BLOCKS) continue;
      const holders = blocks.get(block);
      if (Array.isArray(holders)) holders.push(numbers.of(id));
      else blocks.set(block, [numbers.of(id)]);
    }
  }
  return blocks;
}

function changes(before: Blocks, after: Blocks): [BlockId, BlockMessage][] {
  const changed: [BlockId, BlockMessage][] = [];
  for (const block of before.keys()) if (!after.has(block)) changed.push([block, 'free']);
  for (const [block, state] of after) if (String(before.get(block)) !== String(state)) changed.push([block, state]);
  return changed;
}

function toStatsMessage(stats: EngineStats): FrameMessage['stats'] {
  const { waiting, running, paused, prefixCache, specDecode } = stats;
  return {
    waiting,
    running,
    paused,
    blocks_used: stats.blocksUsed,
    blocks_total: stats.blocksTotal,
    prefix_queries: prefixCache.queries,
    prefix_hits: prefixCache.hits,
    prompt_tokens_per_s: Math.round(stats.promptTokensPerS),
    output_tokens_per_s: Math.round(stats.outputTokensPerS),
    tokens_proposed: specDecode?.tokensProposed ?? 0,
    tokens_accepted: specDecode?.tokensAccepted ?? 0,
  };
}
