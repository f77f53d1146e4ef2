/**
 * Alternates our engines with node-llama-cpp and transformers.js on the same checkpoints, float weights, and prints our
 * rates over each peer's: the median of the rounds' ratios, with quartiles. Each measurement is a process of its own.
 *
 *   npx tsx bench/peers/run.ts PEERS_DIR [--rounds 7] [--prefix "chrt -r 1"] [--models storyteller-12m,smollm2-135m]
 *                              [--engines continuous-batching,paged-attention] [--repeats 3]
 *
 * PEERS_DIR is a copy of the peers' folder, with `npm ci` done in it; converted models are kept in its `cache`.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { median, quartiles } from '../../src/bench/stats.ts';

const CASES = ['prefill512', 'decode_b1_c128', 'decode_b1_c1024', 'decode_b8_c128'] as const;
type Line = Record<(typeof CASES)[number], { readonly best: number; readonly median: number } | null>;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '7' },
    prefix: { type: 'string', default: '' },
    models: { type: 'string', default: 'storyteller-12m,smollm2-135m' },
    engines: { type: 'string', default: 'continuous-batching' },
    repeats: { type: 'string', default: '3' },
  },
});
const [peers] = positionals;
if (!peers) throw new Error('usage: bench/peers/run.ts PEERS_DIR [--rounds 7] [--prefix "chrt -r 1"]');
const cache = resolve(peers, 'cache');
mkdirSync(cache, { recursive: true });

function run(command: readonly string[]): string {
  const [program = '', ...args] = command;
  return execFileSync(program, args, { stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' });
}
const peer = (script: string, ...args: readonly string[]) => [process.execPath, resolve(peers, script), ...args];

function once(path: string, ...command: readonly string[]): string {
  if (!existsSync(path)) run(command);
  return path;
}

/** What is run for a model: a name, and the command that prints its line. */
function contestants(model: string): (readonly [string, readonly string[]])[] {
  const source = model === 'storyteller-12m' ? resolve('models', model) : join(cache, model);
  if (!existsSync(source)) run(peer('make-random-checkpoint.mjs', model, source));
  const gguf = join(cache, `${model}.f32.gguf`);
  const onnx = join(cache, `${model}-onnx-fp32`);
  once(gguf, ...peer('make-gguf.mjs', source, gguf, '--type', 'f32'));
  once(join(onnx, 'config.json'), ...peer('make-optimum-onnx.mjs', source, onnx, '--dtype', 'fp32'));
  const repeats = ['--threads', '2', '--repeats', values.repeats];
  const ours = (engine: string) => [
    'npx',
    'tsx',
    'bench/peers/rxllm.ts',
    source,
    '--peers',
    peers!,
    '--engine',
    engine,
  ];
  return [
    ...values.engines.split(',').map((engine) => [`rxllm ${engine}`, [...ours(engine), ...repeats]] as const),
    ['llama.cpp', [...peer('bench-llama-cpp.mjs', gguf, '--label', 'f32'), ...repeats]],
    ['transformers.js', [...peer('bench-transformers-js.mjs', onnx, '--dtype', 'fp32', '--label', 'fp32'), ...repeats]],
  ];
}

const show = (x: number) => x.toPrecision(3);

for (const model of values.models.split(',')) {
  const field = contestants(model);
  const lines = new Map<string, Line[]>(field.map(([name]) => [name, []]));
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const [name, command] of round % 2 === 0 ? field : [...field].reverse()) {
      const output = run([...values.prefix.split(' ').filter(Boolean), ...command]);
      lines.get(name)!.push(JSON.parse(output.trim().split('\n').at(-1)!) as Line);
      process.stderr.write(`${model}, round ${round + 1}: ${name}\n`);
    }
  }
  const rates = (name: string, test: (typeof CASES)[number]) =>
    lines.get(name)!.map((line) => line[test]?.median ?? Number.NaN);
  console.log(`\n${model}, fp32, tokens/s: median over ${values.rounds} rounds of each run's median`);
  console.table(
    Object.fromEntries(
      field.map(([name]) => [name, Object.fromEntries(CASES.map((test) => [test, show(median(rates(name, test)))]))]),
    ),
  );
  const ratios = (ours: string, other: string, test: (typeof CASES)[number]) => {
    const [a, b] = [rates(ours, test), rates(other, test)];
    const all = a.map((rate, round) => rate / b[round]!);
    return `${median(all).toFixed(2)} (${quartiles(all, 2)})`;
  };
  const isOurs = ([name]: readonly [string, unknown]) => name.startsWith('rxllm');
  for (const [ours] of field.filter(isOurs)) {
    console.log(`${ours} over each peer, median of the rounds' ratios (quartiles)`);
    console.table(
      Object.fromEntries(
        field
          .filter((entry) => !isOurs(entry))
          .map(([other]) => [other, Object.fromEntries(CASES.map((test) => [test, ratios(ours, other, test)]))]),
      ),
    );
  }
}
