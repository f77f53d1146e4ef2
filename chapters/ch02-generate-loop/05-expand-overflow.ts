/** Why the engine's loop is no bare `expand`: where a step is synchronous, every turn stands on the stack of the last. */
import { asapScheduler, defer, EMPTY, expand, lastValueFrom, observeOn, of, repeat, takeWhile } from 'rxjs';
import { size } from '../support/args.ts';

const TURNS = size(100_000, 20_000);

/** How many calls stand on the stack, up to what V8 is told to record. */
Error.stackTraceLimit = Number.POSITIVE_INFINITY;
const depth = () => new Error('depth').stack!.split('\n').length - 1;

// A step that has its result at once, as a runner with a scripted model, or the native one with a short pass.
const step = (count: number) => of(count + 1);

const depths: number[] = [];
step(0)
  .pipe(expand((count) => (count >= 5 ? EMPTY : step(count))))
  .subscribe(() => depths.push(depth()));
console.log(`calls on the stack at each turn of expand: ${depths.join(', ')}`);
Error.stackTraceLimit = 1;

let reached = 0;
const outcome = await new Promise<string>((resolve) => {
  try {
    step(0)
      .pipe(expand((count) => (count >= TURNS ? EMPTY : step(count))))
      .subscribe({
        next: (count) => {
          reached = Math.max(reached, count);
        },
        error: (error: Error) => resolve(`${error.name}: ${error.message}`),
        complete: () => resolve('completed'),
      });
  } catch (error) {
    resolve(`${(error as Error).name}: ${(error as Error).message}`);
  }
});
console.log(`expand over ${TURNS} synchronous turns, at turn ${reached}: ${outcome}`);

// The way out is that each turn starts on a stack of its own.
const hopped$ = step(0).pipe(expand((count) => (count >= TURNS ? EMPTY : step(count).pipe(observeOn(asapScheduler)))));
console.log(`expand over asynchronous turns: reaches ${await lastValueFrom(hopped$)}`);

// The engine's own: the step is repeated, and the delay lets the event loop serve its sockets in between.
let count = 0;
const turn$ = defer(() => of(++count));
const repeated$ = turn$.pipe(
  repeat({ delay: () => of(0, asapScheduler) }),
  takeWhile((turn) => turn < TURNS, true),
);
console.log(`repeat with a delay: reaches ${await lastValueFrom(repeated$)}`);
