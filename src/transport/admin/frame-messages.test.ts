import { describe, expect, it } from 'vitest';
import { expectWellBehaved, testScheduler } from '../../../test/support/marbles.ts';
import type { EngineFrame, EngineStats, KvSnapshot, SequenceTrace } from '../../core/contracts/index.ts';
import { toFrameMessages } from './frame-messages.ts';
import type { FrameMessage } from './observe-messages.ts';

const sequence = (id: string): SequenceTrace => ({
  id,
  phase: 'running',
  promptLength: 4,
  length: 6,
  computed: 5,
  cached: 0,
});

const frame = (parts: Partial<Omit<EngineFrame, 'kv'>> & { readonly kv?: Partial<KvSnapshot> } = {}) => {
  const { kv, ...rest } = parts;
  const whole: EngineFrame = {
    steps: [],
    running: [],
    waiting: [],
    kv: { tables: new Map(), cached: [], ...kv },
    ...rest,
  };
  return [whole, undefined] satisfies [EngineFrame, EngineStats | undefined];
};

function messages(frames: ReturnType<typeof frame>[]): FrameMessage[] {
  const seen: FrameMessage[] = [];
  const scheduler = testScheduler();
  scheduler.run(({ cold }) => {
    const letters = frames.map((_, i) => String.fromCharCode(97 + i));
    const values = Object.fromEntries(letters.map((letter, i) => [letter, frames[i]!]));
    cold(letters.join('-'), values)
      .pipe(toFrameMessages())
      .subscribe((message) => seen.push(message));
  });
  return seen;
}

describe('toFrameMessages', () => {
  it('tells of a block only when it has become another’s', () => {
    const a = new Map([['a', [1, 2]]]);
    const both = new Map([...a, ['b', [1, 3]]]);
    const seen = messages([
      frame({ running: [sequence('a')], kv: { tables: a } }),
      frame({ running: [sequence('a')], kv: { tables: a } }),
      frame({ running: [sequence('a'), sequence('b')], kv: { tables: both } }),
      frame({ running: [sequence('b')], kv: { tables: new Map([['b', [1, 3]]]), cached: [2] } }),
      frame(),
    ]);
    expect(seen.map(({ blocks }) => blocks)).toEqual([
      [
        [1, [1]],
        [2, [1]],
      ],
      [],
      [
        [1, [1, 2]],
        [3, [2]],
      ],
      [
        [2, 'cached'],
        [1, [2]],
      ],
      [
        [2, 'free'],
        [1, 'free'],
        [3, 'free'],
      ],
    ]);
  });

  it('numbers sequences as they come, and forgets those that are gone', () => {
    const seen = messages([
      frame({ running: [sequence('a')], waiting: [sequence('b')] }),
      frame({ running: [sequence('b')] }),
      frame({ running: [sequence('a')] }),
    ]);
    expect(seen.map(({ running, waiting }) => [...running, ...waiting].map((one) => one.sequence))).toEqual([
      [1, 2],
      [2],
      [3],
    ]);
  });

  it('is bounded: the first 32 that wait, the first 4096 blocks', () => {
    const waiting = Array.from({ length: 100 }, (_, i) => sequence(`s${i}`));
    const table = Array.from({ length: 5000 }, (_, i) => i + 1);
    const [message] = messages([frame({ waiting, kv: { tables: new Map([['s0', table]]), cached: [5001] } })]);
    expect([message!.waiting.length, message!.blocks.length]).toEqual([32, 4095]);
  });

  it('is well behaved', () => {
    expectWellBehaved(() => toFrameMessages(), frame());
  });
});
