/** The swap changes no token: short prompts and long ones, alone and eight at once. */
import { createEngine, flashAttention, llama, loadModel, staticBatch, swap } from 'rxllm';
import { args, size } from '../support/args.ts';
import { textTable } from '../support/table.ts';

const model = await loadModel(args.model);
const naive = swap(staticBatch, { name: 'naive', model: llama({ attention: 'naive' }) });
const story = model.tokenizer.encode(`${args.prompt} Sunny. `);
const prompt = (tokens: number) => Array.from({ length: tokens }, (_, i) => story[i % story.length]!);
const lengths = [3, 60, 257, 900].slice(0, size(4, 3));
const output = size(24, 4);

const seen = new Set<string>();
const rows: (string | number)[][] = [];
for (const recipe of [staticBatch, naive, flashAttention]) {
  const engine = await createEngine(recipe, model);
  await engine.generate(prompt(lengths.at(-1)!), 2, { ignoreEos: true });
  const alone = [];
  for (const length of lengths) alone.push(await engine.generate(prompt(length), output, { ignoreEos: true }));
  const together = await Promise.all(
    lengths.map((length) => engine.generate(prompt(length), output, { ignoreEos: true })),
  );
  await engine.close();
  for (const results of [alone, together]) seen.add(results.map(({ outputIds }) => outputIds.join(' ')).join('; '));
  const { ttftMs, tpotMs } = alone.at(-1)!.metrics;
  rows.push([recipe.name, Number(ttftMs.toFixed(1)), Number(tpotMs.toFixed(2))]);
}
console.log(`A prompt of ${lengths.at(-1)} tokens:\n`);
console.log(textTable(['engine', 'TTFT ms', 'TPOT ms'], rows));
console.log(`\nwith prompts of ${lengths.join(', ')} tokens the ids are ${seen.size === 1 ? 'the same' : 'DIFFERENT'}`);
