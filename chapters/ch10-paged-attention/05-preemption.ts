/** Blocks run out on the way: the newest sequence gives its own back, waits, and computes its tokens once more. */
import { type BlockId, createEngine, loadModel, observe, paged, pagedBlocks, swap } from 'rxllm';
import { args, size } from '../support/args.ts';
import { watch } from '../support/watch.ts';

const BLOCK = 4;
const TOKENS = size(20, 12);
const prompts = ['Once upon a time, a fox', 'Anna had a red balloon', 'The old clock on the wall'];
const model = await loadModel(args.model);

/** Runs the prompts together in so many blocks, the one for padding among them. */
async function run(blocks: number, say: (line: string) => void) {
  const counts = { steps: 0, preempted: 0, recomputed: 0 };
  const held = new Map<string, readonly BlockId[]>();
  const look = watch('allocate', ({ index, rows, preempted, reservations }, { kv }) => {
    if (rows.length > 0) counts.steps += 1;
    for (const { id } of preempted) {
      counts.preempted += 1;
      say(`  step ${index}  sequence ${id} is preempted; its blocks ${held.get(id)?.join(' ')} go back`);
      held.delete(id);
    }
    for (const { sequence, newTokens } of rows) {
      const { id, tokens, promptLength, computed } = sequence;
      const before = held.get(id)?.length ?? 0;
      const reserved = reservations.get(id)!.blocks;
      held.set(id, reserved);
      if (before === reserved.length) continue;
      const isBack = computed === 0 && tokens.length > promptLength;
      if (isBack) counts.recomputed += newTokens;
      const why = isBack ? `is back, ${newTokens} tokens to compute again,` : `+ ${newTokens}`;
      say(`  step ${index}  sequence ${id} ${why} now in ${reserved.join(' ')}; ${kv.total - kv.used} blocks free`);
    }
  });
  const recipe = swap(paged, { name: `${blocks} blocks`, kv: pagedBlocks({ blockSize: BLOCK, blocks }) });
  const engine = await createEngine(observe(recipe, look), model);
  const results = await Promise.all(
    prompts.map(async (prompt, id) => {
      const ids: number[] = [];
      const params = { maxTokens: TOKENS, ignoreEos: true };
      await engine.stream({ id: String(id), prompt, params }).forEach((event) => {
        if (event.type === 'token') ids.push(event.id);
      });
      return ids.join(' ');
    }),
  );
  await engine.close();
  return { ...counts, ids: results.join('\n') };
}

const MANY = 64;
const enough = await run(MANY, () => {});
const FEW = size(15, 11);
console.log(`${prompts.length} sequences in ${FEW - 1} blocks of ${BLOCK} tokens; free: after the step\n`);
const few = await run(FEW, console.log);
console.log(`\n${MANY - 1} blocks: ${enough.steps} steps, preempted ${enough.preempted} times`);
console.log(
  `${FEW - 1} blocks: ${few.steps} steps, preempted ${few.preempted} times, ${few.recomputed} tokens computed again`,
);
console.log(`the ids are ${enough.ids === few.ids ? 'the same' : 'DIFFERENT'}, and none was sent twice`);
