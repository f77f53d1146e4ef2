/** The same request through the box and through the stages: the same ids, and now it can be seen when they came. */
import { baseline, createEngine, generateLoop, loadModel, type Recipe } from 'rxllm';
import { args, size } from '../support/args.ts';

const model = await loadModel(args.model);

async function run(recipe: Recipe) {
  const engine = await createEngine(recipe, model);
  const start = performance.now();
  const events: string[] = [];
  await engine.stream({ prompt: args.prompt, params: { maxTokens: size(24, 4), ignoreEos: true } }).forEach((event) => {
    const at = `${(performance.now() - start).toFixed(0)} ms`.padStart(7);
    const what = event.type === 'token' ? ` ${event.id} ${JSON.stringify(event.text)}` : '';
    events.push(`${at}  ${event.type}${what}`);
    if (event.type === 'finished') ids.set(recipe.name, event.result.outputIds.join(' '));
  });
  await engine.close();
  console.log(`\n${recipe.name}\n${events.map((line) => `  ${line}`).join('\n')}`);
}

const ids = new Map<string, string>();
await run(baseline);
await run(generateLoop);
console.log(
  `\nthe ids are ${new Set(ids.values()).size === 1 ? 'the same' : 'DIFFERENT'}: ${ids.get('generate-loop')}`,
);
