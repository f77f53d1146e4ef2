import { tap } from 'rxjs';
import { type Allocated, createEngine, loadModel, type Observer, observe, type StagedRecipe, type Tick } from 'rxllm';
import { args } from './args.ts';

export interface Arrival {
  /** The step before which the request arrives. */
  readonly step: number;
  readonly prompt: number;
  readonly output: number;
}

/** What a sequence does in a step; `padding`: it has ended, and its row of the batch is padding while others wait. */
export type Cell = 'waits' | 'prompt' | 'decodes' | 'padding';

export interface Timeline {
  readonly name: string;
  readonly steps: number;
  /** `[sequence][step]` */
  readonly cells: readonly (readonly (Cell | undefined)[])[];
  /** Rows that computed something, over all steps, and those of padding while others waited. */
  readonly used: number;
  readonly lost: number;
}

export const ROWS = 4;

/** Twelve requests on four rows, short and long mixed: what both chapters draw. */
export const ARRIVALS: readonly Arrival[] = [
  { step: 0, prompt: 12, output: 24 },
  { step: 0, prompt: 6, output: 5 },
  { step: 0, prompt: 18, output: 9 },
  { step: 0, prompt: 8, output: 4 },
  { step: 3, prompt: 10, output: 12 },
  { step: 5, prompt: 5, output: 6 },
  { step: 7, prompt: 14, output: 20 },
  { step: 9, prompt: 7, output: 5 },
  { step: 12, prompt: 9, output: 10 },
  { step: 14, prompt: 6, output: 3 },
  { step: 18, prompt: 12, output: 14 },
  { step: 20, prompt: 8, output: 6 },
];

/** Runs the arrivals and writes down who had a row in which step. Time is counted in steps, so it comes out the same each time. */
export async function timelineOf(recipe: StagedRecipe, arrivals: readonly Arrival[] = ARRIVALS): Promise<Timeline> {
  const cells = arrivals.map((): (Cell | undefined)[] => []);
  const lastIn = new Map<number, number>();
  let steps = 0;
  const watch: Observer = <T extends Tick>(context: Parameters<Observer>[0], stage: string) =>
    tap<T>((tick) => {
      const { rows, reservations } = tick as unknown as Allocated;
      if (stage !== 'allocate' || rows.length === 0) return;
      const taken = new Set<number>();
      for (const { sequence, kind } of rows) {
        const index = Number(sequence.id);
        const slot = reservations.get(sequence.id)!.blocks[0]!;
        cells[index]![steps] = kind === 'prefill' ? 'prompt' : 'decodes';
        taken.add(slot);
        lastIn.set(slot, index);
      }
      for (const { id } of context.waiting) cells[Number(id)]![steps] = 'waits';
      if (context.waiting.length > 0) {
        for (const [slot, index] of lastIn) if (!taken.has(slot)) cells[index]![steps] = 'padding';
      }
      steps += 1;
    });

  const model = await loadModel(args.model);
  // The first request of a process takes so long that those beside it would come a step later.
  const warm = await createEngine(recipe, model, { maxNumSeqs: ROWS });
  await warm.generate([300], 2);
  await warm.close();
  const engine = await createEngine(observe(recipe, watch), model, { maxNumSeqs: ROWS });
  let arrived = 0;
  await new Promise<void>((resolve, reject) => {
    let ended = 0;
    const arrive = () => {
      for (; arrived < arrivals.length && arrivals[arrived]!.step <= steps; arrived++) {
        const { prompt, output } = arrivals[arrived]!;
        const params = { maxTokens: output, ignoreEos: true };
        engine
          .stream({ id: `${arrived}`, prompt: Array.from({ length: prompt }, (_, i) => 300 + i), params })
          .subscribe({
            error: reject,
            complete: () => {
              ended += 1;
              if (ended === arrivals.length) resolve();
            },
          });
      }
    };
    engine.stats$.subscribe(arrive);
    arrive();
  });
  await engine.close();
  const count = (...kinds: Cell[]) => cells.flat().filter((cell) => cell !== undefined && kinds.includes(cell)).length;
  return { name: recipe.name, steps, cells, used: count('prompt', 'decodes'), lost: count('padding') };
}

const SIGNS: Readonly<Record<Cell, string>> = { waits: '.', prompt: 'P', decodes: '#', padding: '-' };

/** A line a sequence, a sign a step. */
export function timelineText({ cells, steps }: Timeline): string {
  const lines = cells.map((row, index) => {
    const signs = Array.from({ length: steps }, (_, step) => (row[step] ? SIGNS[row[step]] : ' '));
    return `${String(index).padStart(2)}  ${signs.join('').trimEnd()}`;
  });
  return `${lines.join('\n')}\n    (. waits  P prompt  # decodes  - its row is padding while others wait)`;
}
