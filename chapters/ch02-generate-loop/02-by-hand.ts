/** The loop without any engine: prefill, sample, then decode and sample until the end. Nothing is kept between passes. */
import { firstValueFrom } from 'rxjs';
import { createSampler, type ForwardBatch, loadModel, prebuilt, resolveParams, stock } from 'rxllm';
import { args, size } from '../support/args.ts';

const model = await loadModel(args.model);
const pool = { layout: 'none', blocks: 0, blockSize: 0 } as const;
const runner = await stock()(prebuilt()(model, 'none'), model, pool);
const { tokenizer } = model;
const sampler = createSampler(resolveParams(), { eosIds: tokenizer.eosIds, random: Math.random });

/** All tokens in, the logits `[vocab]` after the last of them out. */
const forward = async (tokens: readonly number[]): Promise<Float32Array> => {
  const width = tokens.length;
  const last = [width - 1];
  const batch: ForwardBatch = { rows: 1, width, ids: [tokens], positions: [0], blockTables: [[]], logitsAt: last };
  return (await firstValueFrom(runner.forward(batch))).data;
};

const tokens = tokenizer.encode(args.prompt);
const promptLength = tokens.length;
for (let step = 0; step < size(20, 4); step++) {
  const start = performance.now();
  const logits = await forward(tokens);
  const { id } = sampler.sample(logits, tokens, promptLength);
  const phase = step === 0 ? 'prefill   ' : 'decodeStep';
  const time = `${(performance.now() - start).toFixed(1)} ms`;
  console.log(
    `${phase} ${String(tokens.length).padStart(3)} tokens in, ${time.padStart(7)}  →  ${id} ${JSON.stringify(tokenizer.tokenText(id))}`,
  );
  if (tokenizer.eosIds.has(id)) break;
  tokens.push(id);
}
await runner.dispose();
console.log(`\n${tokenizer.decode(tokens)}`);
