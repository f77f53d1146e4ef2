/** What blocks cost: a row's keys are gathered first, all rows as far as the longest. So long and short rows run apart. */
import { firstValueFrom } from 'rxjs';
import { cutIntoRuns, type ForwardBatch, type KvLayout, llama, loadModel, native } from 'rxllm';
import { median } from 'rxllm/bench';
import { args, size } from '../support/args.ts';
import { textTable } from '../support/table.ts';

const BLOCK = 16;
const LONGEST = 2032;
/** A further pass costs about as much as gathering so many tokens: the constant of `decodeStep`. */
const RUN_COST = 4096;
const STEPS = size(30, 3);
const contexts = [
  ['all alike', Array<number>(8).fill(300)],
  ['one long', [2000, ...Array<number>(7).fill(60)]],
  ['two kinds', [1000, 1000, 1000, 1000, 40, 40, 40, 40]],
  ['all different', [50, 150, 300, 500, 700, 900, 1100, 1300]],
] as const;

const model = await loadModel(args.model);
const rowBlocks = LONGEST / BLOCK;
const start = (layout: KvLayout) => {
  const pool = {
    layout,
    blocks: layout === 'paged' ? 1 + 8 * rowBlocks : 8,
    blockSize: layout === 'paged' ? BLOCK : LONGEST,
  };
  return native()(llama()(model, layout), model, pool);
};
const [paged, contiguous] = [await start('paged'), await start('contiguous')];

/** A decode step of these rows, each with so many tokens in the cache. */
const batchOf = (
  rows: readonly { readonly row: number; readonly context: number }[],
  layout: KvLayout,
): ForwardBatch => ({
  rows: rows.length,
  width: 1,
  ids: rows.map(({ row }) => [100 + row]),
  positions: rows.map(({ context }) => context),
  blockTables: rows.map(({ row, context }) =>
    layout === 'contiguous'
      ? [row]
      : Array.from({ length: Math.floor(context / BLOCK) + 1 }, (_, i) => 1 + i * 8 + row),
  ),
  logitsAt: rows.map((_, i) => i),
});

/** Milliseconds of a step, the median. */
async function time(step: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < STEPS + 2; i++) {
    const from = performance.now();
    await step();
    if (i >= 2) times.push(performance.now() - from);
  }
  return Number(median(times).toFixed(2));
}

const table: (string | number)[][] = [];
for (const [name, lengths] of contexts) {
  const rows = lengths.map((context, row) => ({ row, context }));
  const runs = cutIntoRuns(rows, ({ context }) => context, RUN_COST);
  const gathered = (all: readonly (typeof rows)[]) =>
    all.reduce((sum, run) => sum + run.length * Math.max(...run.map(({ context }) => context)), 0);
  const whole = batchOf(rows, 'paged');
  const parts = runs.map((run) => batchOf(run, 'paged'));
  const side = batchOf(rows, 'contiguous');
  table.push([
    name,
    lengths.reduce((sum, context) => sum + context, 0),
    gathered([rows]),
    gathered(runs.map((run) => [...run])),
    runs.map(({ length }) => length).join(' + '),
    await time(() => firstValueFrom(paged.forward(whole))),
    await time(async () => {
      for (const part of parts) await firstValueFrom(paged.forward(part));
    }),
    await time(() => firstValueFrom(contiguous.forward(side))),
  ]);
}
await Promise.all([paged.dispose(), contiguous.dispose()]);
console.log('A decode step of 8 rows; tokens whose keys and values are gathered, and median ms:\n');
console.log(
  textTable(
    ['contexts', 'held', 'one pass', 'in runs', 'rows', 'one pass, ms', 'in runs, ms', 'contiguous, ms'],
    table,
  ),
);
