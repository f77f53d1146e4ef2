import { concat, ignoreElements, map, type Observable, tap, timer } from 'rxjs';
import type { TestScheduler } from 'rxjs/testing';
import type {
  EngineOptions,
  Observer,
  Planned,
  StagedRecipe,
  Tick,
  TokenEvent,
} from '../../src/core/contracts/index.ts';
import type { Script } from '../../src/core/runtime/scripted-runner.ts';
import { virtualOptions } from './context.ts';
import { testScheduler } from './marbles.ts';
import { scriptedEngine } from './scripted-engine.ts';

type Change = Partial<Omit<StagedRecipe, 'kind'>>;

/** An engine in virtual time, where a step starts a frame after the last one ended, and what its steps planned. */
export async function virtualEngine(
  script: Partial<Script> = {},
  change: Change = {},
  options: Partial<EngineOptions> = {},
) {
  const scheduler = testScheduler();
  const plans: string[] = [];
  let steps = 0;
  const observers: Observer[] = [
    <T extends Tick>(context: Parameters<Observer>[0], stage: string) =>
      tap<T>((step) => {
        if (stage === 'schedule') steps += 1;
        if (stage === 'allocate') plans.push(planOf(step as unknown as Planned));
        if (stage === 'meter') context.kv.checkInvariants();
      }),
  ];
  const scripted = await scriptedEngine(
    script,
    { ...virtualOptions(scheduler), ...options },
    { ...change, observers: [...observers, ...(change.observers ?? [])] },
  );
  return { ...scripted, scheduler, plans, steps: () => steps };
}

/** `s0:p4 s1:d1 !s2`: four prompt tokens of s0, one token of s1 decodes, s2 is preempted. */
function planOf({ rows, preempted }: Planned): string {
  return [
    ...rows.map(({ sequence: { id }, kind, newTokens }) => `${id}:${kind[0]}${newTokens}`),
    ...preempted.map(({ id }) => `!${id}`),
  ].join(' ');
}

/** An event as a word: its letter, or what kind it is. */
export const word = (event: TokenEvent): string => {
  if (event.type === 'token') return event.text;
  if (event.type === 'finished') return `${event.result.finishReason}:${event.result.text}`;
  return event.type === 'prefill' ? `prefill ${event.computed}/${event.total}` : event.type;
};
export const words = (source: Observable<TokenEvent>) => source.pipe(map(word));

/** Subscribes at a frame. */
export const at = <T>(frame: number, source: Observable<T>, scheduler: TestScheduler) =>
  concat(timer(frame, scheduler).pipe(ignoreElements()), source);
