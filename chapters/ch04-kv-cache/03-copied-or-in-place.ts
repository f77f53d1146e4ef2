/** One decode step over a cache that is copied each time, and over one that is written in place, for longer regions. */
import { firstValueFrom } from 'rxjs';
import { llama, loadModel, native, type RuntimeSlot, stock } from 'rxllm';
import { median } from 'rxllm/bench';
import { args, judge, size } from '../support/args.ts';
import { textTable } from '../support/table.ts';

const model = await loadModel(args.model);
const HELD = 64;

/** Milliseconds for a token when the region has room for `room` tokens and holds `HELD` of them. */
async function step(runtime: RuntimeSlot, room: number): Promise<number> {
  const pool = { layout: 'contiguous', blocks: 1, blockSize: room } as const;
  const runner = await runtime(llama()(model, 'contiguous'), model, pool);
  const run = (ids: readonly number[], start: number) => {
    const [width, positions, logitsAt] = [ids.length, [start], [ids.length - 1]];
    return firstValueFrom(runner.forward({ rows: 1, width, ids: [ids], positions, blockTables: [[0]], logitsAt }));
  };
  await run(
    Array.from({ length: HELD }, (_, i) => 100 + i),
    0,
  );
  const times: number[] = [];
  for (let i = 0; i < size(60, 6); i++) {
    const start = performance.now();
    await run([7], HELD);
    times.push(performance.now() - start);
  }
  await runner.dispose();
  return Number(median(times).toFixed(2));
}

const rows: number[][] = [];
for (const room of [128, 512, 1024, 2048].slice(0, size(4, 2))) {
  rows.push([room, await step(stock(), room), await step(native(), room)]);
}
console.log(`A token behind ${HELD} others, median ms; the only difference is how much room there is:\n`);
console.log(textTable(['room (tokens)', 'copied (stock)', 'in place (native)'], rows));
judge('The copy costs what the region could hold, not what it holds: the longer the context, the less the cache pays.');
