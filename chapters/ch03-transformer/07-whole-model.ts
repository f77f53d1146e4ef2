/** The parts together, checked against what Hugging Face transformers computes with the same weights. */
import { readFile } from 'node:fs/promises';
import { firstValueFrom } from 'rxjs';
import { createEngine, loadModel, primitives, stock, transformer } from 'rxllm';
import { args, size } from '../support/args.ts';
import { textTable } from '../support/table.ts';

interface Golden {
  readonly name: string;
  readonly input_ids: readonly number[];
  readonly last_logits_top20: { readonly ids: readonly number[]; readonly values: readonly number[] };
  readonly greedy_ids: readonly number[];
}

const model = await loadModel(args.model);
const path = new URL(`../../models/goldens/${model.name}.generation.json`, import.meta.url);
const { cases } = JSON.parse(await readFile(path, 'utf8')) as { readonly cases: readonly Golden[] };
const short = cases.filter(({ input_ids }) => input_ids.length < 100).slice(0, size(100, 2));

const graph = primitives()(model, 'none');
const pool = { layout: 'none', blocks: 0, blockSize: 0 } as const;
const runner = await stock()(graph, model, pool);
const engine = await createEngine(transformer, model);
const count = size(32, 4);
console.log(
  `the graph: ${(await graph.author('returned')).length} bytes, written from config.json and the index of the weights\n`,
);

const rows: (string | number)[][] = [];
for (const { name, input_ids: ids, last_logits_top20: top, greedy_ids: golden } of short) {
  const width = ids.length;
  const batch = { rows: 1, width, ids: [ids], positions: [0], blockTables: [[]], logitsAt: [width - 1] };
  const { data } = await firstValueFrom(runner.forward(batch));
  const error = Math.max(...top.ids.map((id, i) => Math.abs(data[id]! - top.values[i]!)));
  const { outputIds } = await engine.generate(ids, count, { ignoreEos: true });
  const same = outputIds.filter((id, i) => id === golden[i]).length;
  rows.push([name, width, error.toExponential(1), `${same} of ${count}`]);
}
await engine.close();
await runner.dispose();
console.log(textTable(['golden prompt', 'tokens', 'largest error of the top 20 logits', 'greedy ids the same'], rows));
