/** A short request that arrives a moment after a long one, before and after the swap. */
import { continuous, createEngine, loadModel, type StagedRecipe, staticBatch } from 'rxllm';
import { args, size } from '../support/args.ts';
import { textTable } from '../support/table.ts';

const LONG = size(256, 24);
const model = await loadModel(args.model);

async function behindALongOne(recipe: StagedRecipe) {
  const engine = await createEngine(recipe, model, { maxNumSeqs: 8 });
  await engine.generate(args.prompt, 8, { ignoreEos: true });
  const long = { prompt: args.prompt, params: { maxTokens: LONG, ignoreEos: true } };
  let longTokens = 0;
  const isUnderWay = new Promise<void>((resolve) => {
    engine.stream(long).subscribe(({ type }) => {
      if (type === 'token' && ++longTokens === 2) resolve();
    });
  });
  await isUnderWay;
  const { metrics } = await engine.generate(args.prompt, 4, { ignoreEos: true });
  const saidMeanwhile = longTokens - 2;
  await engine.close();
  return [recipe.name, Number(metrics.ttftMs.toFixed(1)), saidMeanwhile];
}

const rows = [await behindALongOne(staticBatch), await behindALongOne(continuous)];
console.log(`4 tokens, asked for when another request has said 2 of its ${LONG}:\n`);
console.log(textTable(['engine', 'TTFT ms', 'tokens of the other before its end'], rows));
console.log('\nIt joins the next step, and the long one goes on beside it.');
