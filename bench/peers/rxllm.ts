/**
 * Measures one of our engines by the plan of the peers, and prints the JSON line that they print.
 *
 *   npx tsx bench/peers/rxllm.ts MODEL_DIR --peers PEERS_DIR [--engine NAME] [--golden FILE] [--threads 2] [--repeats 6]
 *
 * PEERS_DIR is the folder with the peers' `common.mjs`, so that one plan measures all.
 */
import { readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { createEngine, findEngine, loadModel } from '../../src/index.ts';

type Generate = (
  prompts: readonly (readonly number[])[],
  steps: number,
) => Promise<{ start: number; times: number[]; ids: number[][] }>;

interface Plan {
  measure(options: { generate: Generate; vocab: number; maxContext: number; repeats?: number }): Promise<object>;
  checkGolden(file: string, generate: Generate, options: { exact: boolean }): Promise<object>;
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    peers: { type: 'string' },
    engine: { type: 'string', default: 'continuous-batching' },
    golden: { type: 'string' },
    threads: { type: 'string', default: '2' },
    repeats: { type: 'string', default: '6' },
    label: { type: 'string', default: 'fp32' },
  },
});
const [directory] = positionals;
if (!directory || !values.peers)
  throw new Error('usage: bench/peers/rxllm.ts MODEL_DIR --peers PEERS_DIR [--engine NAME]');
Object.assign(process.env, { RXLLM_THREADS: values.threads });

const plan = (await import(pathToFileURL(resolve(values.peers, 'common.mjs')).href)) as Plan;
const model = await loadModel(directory);
const { recipe } = findEngine(values.engine);
const maxModelLen = Math.min(2048, model.config.maxPositions);
const engine = await createEngine(recipe, model, { maxModelLen, kvCacheMemoryMiB: 4096 });

/** All prompts at once; a time is when the last of them had its token. */
const generate: Generate = async (prompts, steps) => {
  const times: number[] = [];
  const ids = prompts.map((): number[] => []);
  const start = performance.now();
  await Promise.all(
    prompts.map(
      (prompt, row) =>
        new Promise<void>((done, fail) => {
          engine.stream({ prompt, params: { maxTokens: steps, ignoreEos: true } }).subscribe({
            next: (event) => {
              if (event.type !== 'token') return;
              times[ids[row]!.length] = performance.now();
              ids[row]!.push(event.id);
            },
            complete: done,
            error: fail,
          });
        }),
    ),
  );
  return { start, times, ids };
};

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
  version: string;
};
const report = {
  peer: 'rxllm',
  version,
  engine: `${values.engine}, ${engine.description}`,
  model: basename(resolve(directory)),
  dtype: values.label,
  kv: 'f32',
  threads: Number(values.threads),
  ...(values.golden ? { golden: await plan.checkGolden(values.golden, generate, { exact: recipe.exact }) } : {}),
  ...(await plan.measure({
    generate,
    vocab: model.config.vocab,
    maxContext: maxModelLen,
    repeats: Number(values.repeats),
  })),
};
console.log(JSON.stringify(report));
await engine.close();
