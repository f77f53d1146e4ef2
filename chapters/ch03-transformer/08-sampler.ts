/** The sampler, built step by step, and the distributions that it draws from, as a picture. */
import { writeFileSync } from 'node:fs';
import { firstValueFrom } from 'rxjs';
import { createSampler, loadModel, primitives, resolveParams, stock } from 'rxllm';
import { args, size } from '../support/args.ts';
import { barChart } from '../support/bar-chart.ts';

/** softmax(logits / temperature): below 1 the likely get likelier, above 1 they come closer together. */
function softmax(logits: readonly number[], temperature: number): number[] {
  const largest = Math.max(...logits);
  const weights = logits.map((logit) => Math.exp((logit - largest) / temperature));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

/** Only those that `keep` says, by rank and by what the more likely ones add up to, share the whole again. */
function truncate(probabilities: readonly number[], keep: (rank: number, before: number) => boolean): number[] {
  const order = [...probabilities.keys()].sort((a, b) => probabilities[b]! - probabilities[a]!);
  const kept = probabilities.map(() => 0);
  let before = 0;
  for (const [rank, id] of order.entries()) {
    if (keep(rank, before)) kept[id] = probabilities[id]!;
    before += probabilities[id]!;
  }
  const total = kept.reduce((sum, share) => sum + share, 0);
  return kept.map((share) => share / total);
}
const topK = (probabilities: readonly number[], k: number) => truncate(probabilities, (rank) => rank < k);
const topP = (probabilities: readonly number[], p: number) => truncate(probabilities, (_, before) => before < p);

const model = await loadModel(args.model);
const { tokenizer } = model;
const pool = { layout: 'none', blocks: 0, blockSize: 0 } as const;
const runner = await stock()(primitives()(model, 'none'), model, pool);
const ids = tokenizer.encode('Once upon a time, there was a little');
const batch = { rows: 1, width: ids.length, ids: [ids], positions: [0], blockTables: [[]], logitsAt: [ids.length - 1] };
const data = (await firstValueFrom(runner.forward(batch))).data.slice();
await runner.dispose();
const logits = [...data];

const settings = [
  ['temperature 0.5', softmax(logits, 0.5), { temperature: 0.5 }],
  ['temperature 1', softmax(logits, 1), { temperature: 1 }],
  ['temperature 2', softmax(logits, 2), { temperature: 2 }],
  ['top-k 5', topK(softmax(logits, 1), 5), { temperature: 1, topK: 5 }],
  ['top-p 0.5', topP(softmax(logits, 1), 0.5), { temperature: 1, topP: 0.5 }],
] as const;

const best = [...logits.keys()].sort((a, b) => logits[b]! - logits[a]!).slice(0, 10);
const labels = best.map((id) => tokenizer.tokenText(id).trim());
const draws = size(20_000, 2_000);
console.log(`After "${tokenizer.decode(ids)}", by the formulas and by ${draws} draws of the engine's own sampler:\n`);
console.log(`${''.padEnd(24)}${labels.map((label) => label.padStart(9)).join('')}`);
for (const [name, probabilities, params] of settings) {
  const sampler = createSampler(resolveParams({ ...params, seed: 1 }), { eosIds: new Set(), random: Math.random });
  const counts = new Map<number, number>();
  for (let i = 0; i < draws; i++) {
    const { id } = sampler.sample(data, ids, ids.length);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  const line = (of: (id: number) => number) => best.map((id) => of(id).toFixed(3).padStart(9)).join('');
  console.log(`${name.padEnd(16)} formula${line((id) => probabilities[id]!)}`);
  console.log(`${''.padEnd(16)} drawn  ${line((id) => (counts.get(id) ?? 0) / draws)}`);
}

const panels = settings.map(([name, probabilities]) => ({ name, values: best.map((id) => probabilities[id]!) }));
if (!args.quick) {
  const svg = barChart('Probabilities of the ten likeliest words after “there was a little”', labels, panels);
  writeFileSync(new URL('distributions.svg', import.meta.url), svg);
  console.log('\nwritten: distributions.svg');
}
