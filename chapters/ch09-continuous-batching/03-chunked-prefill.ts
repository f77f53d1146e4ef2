/** A long prompt arrives while others decode: whole, it stops them all for a moment; in chunks, it shares their steps. */
import { continuous, continuousBatching, createEngine, loadModel, schedule, swap } from 'rxllm';
import { args, judge, size } from '../support/args.ts';
import { textTable } from '../support/table.ts';

const PROMPT = Array.from({ length: size(1500, 200) }, (_, i) => 300 + (i % 500));
const model = await loadModel(args.model);

/** The longest time between two tokens of those that decode, and the TTFT of the long prompt, in milliseconds. */
async function meet(longPrefillTokenThreshold: number) {
  const policy = continuousBatching({ maxNumBatchedTokens: 2048, longPrefillTokenThreshold });
  const engine = await createEngine(swap(continuous, { name: 'chunks', schedule: schedule(policy) }), model);
  const params = { maxTokens: size(256, 32), ignoreEos: true };
  await engine.generate(PROMPT, 1, { ignoreEos: true });
  let longest = 0;
  let last = 0;
  let long: Promise<number> | undefined;
  const others = Array.from({ length: 3 }, (_, index) =>
    engine.stream({ prompt: args.prompt, params }).forEach(({ type }) => {
      if (type !== 'token' || index > 0) return;
      const now = performance.now();
      if (long) longest = Math.max(longest, now - last);
      last = now;
      long ??= engine.generate(PROMPT, 1, { ignoreEos: true }).then(({ metrics }) => metrics.ttftMs);
    }),
  );
  await Promise.all(others);
  const ttft = await long!;
  await engine.close();
  return [longPrefillTokenThreshold, Number(longest.toFixed(1)), Number(ttft.toFixed(1))];
}

const rows: number[][] = [];
for (const chunk of args.quick ? [256, 32] : [2048, 512, 128, 32]) rows.push(await meet(chunk));
console.log(`A prompt of ${PROMPT.length} tokens meets three sequences that decode:\n`);
console.log(textTable(['tokens a chunk, at most', 'longest gap of the others, ms', 'its own TTFT, ms'], rows));
judge('Smaller chunks: shorter gaps for the others, and a later first token for the long prompt.');
