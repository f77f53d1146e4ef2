/** lm_head: how well a token's vector agrees with each word of the vocabulary. Softmax makes probabilities of it. */
import { firstValueFrom } from 'rxjs';
import { loadModel, primitives, stock } from 'rxllm';
import { args } from '../support/args.ts';

const model = await loadModel(args.model);
const { tokenizer, config } = model;
const pool = { layout: 'none', blocks: 0, blockSize: 0 } as const;
const runner = await stock()(primitives()(model, 'none'), model, pool);

const ids = tokenizer.encode(args.prompt);
// Every position gives logits; generation wants the last, and only those are computed.
const last3 = [ids.length - 3, ids.length - 2, ids.length - 1];
const batch = { rows: 1, width: ids.length, ids: [ids], positions: [0], blockTables: [[]], logitsAt: last3 };
const { rows, vocab, data } = await firstValueFrom(runner.forward(batch));
await runner.dispose();

console.log(`wanted [3, ${config.hidden}] × table [${config.vocab}, ${config.hidden}]ᵀ → logits [${rows}, ${vocab}]`);
console.log(config.tiedEmbeddings ? 'the table is the embedding again (tied weights)' : 'the table is lm_head.weight');
for (const [row, at] of last3.entries()) {
  const logits = data.subarray(row * vocab, (row + 1) * vocab);
  const largest = Math.max(...logits);
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit - largest), 0);
  const best = [...logits.keys()].sort((a, b) => logits[b]! - logits[a]!).slice(0, 5);
  console.log(`\nafter …${JSON.stringify(tokenizer.decode(ids.slice(at - 2, at + 1)))}   logit  probability`);
  for (const id of best) {
    const share = Math.exp(logits[id]! - largest) / total;
    console.log(
      `  ${JSON.stringify(tokenizer.tokenText(id)).padEnd(16)} ${logits[id]!.toFixed(2).padStart(8)}  ${share.toFixed(3)}`,
    );
  }
}
