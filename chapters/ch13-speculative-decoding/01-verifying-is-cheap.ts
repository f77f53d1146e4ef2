/** One pass over several tokens costs little more than a pass over one: the weights are read once for all of them. */
import { firstValueFrom } from 'rxjs';
import { type KvPool, llama, loadModel, native } from 'rxllm';
import { median } from 'rxllm/bench';
import { args, size } from '../support/args.ts';
import { textTable } from '../support/table.ts';

const CONTEXT = 128;
const BLOCKS = 12;
const WIDTHS = [1, 2, 3, 5, 9];
const PASSES = size(100, 5);

const model = await loadModel(args.model);
const pool: KvPool = { layout: 'paged', blocks: BLOCKS + 1, blockSize: 16 };
const runner = await native()(llama()(model, 'paged'), model, pool);
const blocks = Array.from({ length: BLOCKS }, (_, i) => i + 1);

/** Milliseconds of a pass that runs so many tokens behind the context, with the logits of each. */
async function pass(width: number, position = CONTEXT): Promise<number> {
  const ids = Array.from({ length: width }, (_, i) => 300 + 7 * i);
  const logitsAt = ids.map((_, at) => at);
  const start = performance.now();
  await firstValueFrom(
    runner.forward({ rows: 1, width, ids: [ids], positions: [position], blockTables: [blocks], logitsAt }),
  );
  return performance.now() - start;
}
await pass(CONTEXT, 0);

const times = WIDTHS.map((): number[] => []);
// In turn, so that whatever else the machine does meets all of them.
for (let i = 0; i < PASSES; i++) {
  for (const [at, width] of WIDTHS.entries()) times[at]!.push(await pass(width));
}
await runner.dispose();

const alone = median(times[0]!);
const rows = WIDTHS.map((width, at) => {
  const ms = median(times[at]!);
  return [width, Number(ms.toFixed(2)), Number((ms / alone).toFixed(2)), Number((ms / width).toFixed(2))];
});
console.log(`a forward pass behind ${CONTEXT} tokens:\n`);
console.log(textTable(['tokens', 'ms', '× one token', 'ms a token'], rows));
