/** Too little memory for all: the newest sequence gives its memory back, waits, and goes on as if nothing had happened. */
import { continuous, createEngine, loadModel, pagedBlocks, type StagedRecipe, swap } from 'rxllm';
import { args, size } from '../support/args.ts';
import { textTable } from '../support/table.ts';

const model = await loadModel(args.model);
const TOKENS = size(64, 24);
// Blocks of 8 tokens, as chapter 10 has them: memory that is taken piece by piece can run out on the way.
const plenty = swap(continuous, { name: 'plenty', kv: pagedBlocks({ blockSize: 8 }) });
const scarce = swap(continuous, { name: 'scarce', kv: pagedBlocks({ blockSize: 8, blocks: size(24, 12) }) });

async function run(recipe: StagedRecipe) {
  const engine = await createEngine(recipe, model, { maxNumSeqs: 4 });
  let preemptions = 0;
  let steps = 0;
  engine.stats$.subscribe(({ step }) => {
    steps = step;
  });
  const prompts = ['The fox', 'Once upon a time', 'Anna had', 'A small house'];
  const texts = await Promise.all(
    prompts.map(async (prompt) => {
      let text = '';
      await engine.stream({ prompt, params: { maxTokens: TOKENS, ignoreEos: true } }).forEach((event) => {
        if (event.type === 'preempted') preemptions += 1;
        if (event.type === 'token') text += event.text;
      });
      return text;
    }),
  );
  await engine.close();
  return { row: [recipe.name, steps, preemptions], texts: texts.join('\n') };
}

const [with_, without] = [await run(plenty), await run(scarce)];
console.log(textTable(['memory', 'steps', 'preemptions'], [with_.row, without.row]));
console.log(
  `\nthe texts are ${with_.texts === without.texts ? 'the same' : 'DIFFERENT'}, and no token was shown twice`,
);
