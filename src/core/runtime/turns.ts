import { Observable } from 'rxjs';
import type { Logits, ModelRunner, RuntimeSlot } from '../contracts/index.ts';

/**
 * A runtime slot whose runners share one turn with those of the other slots made here: one forward pass at a time, in the
 * order of asking, so that two engines side by side do not fight for the cores.
 */
export function createTurns(): (runtime: RuntimeSlot) => RuntimeSlot {
  const waiting: (() => void)[] = [];
  let busy = false;

  const next = () => {
    busy = false;
    waiting.shift()?.();
  };

  const inTurn = (runner: ModelRunner): ModelRunner => ({
    config: runner.config,
    description: runner.description,
    forward: (batch) =>
      new Observable<Logits>((subscriber) => {
        const start = () => {
          if (subscriber.closed) return next();
          busy = true;
          // Not the reader's subscription: a pass that nobody waits for any more still has its turn until it ends.
          runner.forward(batch).subscribe({
            next: (logits) => subscriber.next(logits),
            error: (error: unknown) => {
              subscriber.error(error);
              next();
            },
            complete: () => {
              subscriber.complete();
              next();
            },
          });
        };
        if (busy) waiting.push(start);
        else start();
      }),
    copyBlocks: (copies) => runner.copyBlocks(copies),
    dispose: () => runner.dispose(),
  });

  return (runtime) => async (graph, model, pool) => inTurn(await runtime(graph, model, pool));
}
