/** The same prompt under different sampling parameters, side by side. Run it twice: what is greedy stays. */
import { baseline, createEngine, loadModel, type SamplingParams } from 'rxllm';
import { args, size } from '../support/args.ts';
import { textTable } from '../support/table.ts';

const settings: readonly (readonly [label: string, params: Partial<SamplingParams>])[] = [
  ['greedy, first run', {}],
  ['greedy, second run', {}],
  ['temperature 0.1', { temperature: 0.1 }],
  ['temperature 1', { temperature: 1 }],
  ['temperature 1, again', { temperature: 1 }],
  ['temperature 1, seed 7', { temperature: 1, seed: 7 }],
  ['the same seed again', { temperature: 1, seed: 7 }],
  ['temperature 2', { temperature: 2 }],
  ['top-k 1', { temperature: 1, topK: 1 }],
  ['top-k 5', { temperature: 1, topK: 5 }],
  ['top-k 200', { temperature: 1, topK: 200 }],
  ['top-p 0.1', { temperature: 1, topP: 0.1 }],
  ['top-p 0.95', { temperature: 1, topP: 0.95 }],
];

const engine = await createEngine(baseline, await loadModel(args.model));
const results = await Promise.all(
  settings.map(([, params]) => engine.generate(args.prompt, size(24, 4), { ...params, ignoreEos: true })),
);
await engine.close();

console.log(`${args.prompt} …\n`);
const oneLine = (text: string) => text.replaceAll('\n', '⏎');
console.log(
  textTable(
    ['setting', 'continuation'],
    settings.map(([label], i) => [label, oneLine(results[i]!.text)]),
  ),
);
