/** The engine: from a recipe and a model, with an Observable for each request. */
import { take } from 'rxjs';
import { baseline, createEngine, loadModel } from 'rxllm';
import { args, size } from '../support/args.ts';

const engine = await createEngine(baseline, await loadModel(args.model));
console.log(`[engine] ${engine.name} on ${engine.description}`);

const { text, finishReason, metrics } = await engine.generate(args.prompt, size(40, 6));
console.log(`\n[prompt]\n  ${args.prompt}\n\n[output, ended by ${finishReason}]\n ${text}\n\n[metrics]`);
for (const [name, value] of Object.entries(metrics)) console.log(`  ${name.padEnd(14)} ${Number(value.toFixed(1))}`);

// The Promise is a convenience. Underneath, a request is a cold Observable: subscribing is its arrival.
console.log('\n[events] all that can be seen of a box from outside');
const events = engine.stream({ prompt: args.prompt, params: { maxTokens: 4 } });
await events.forEach(({ type }) => {
  console.log(`  ${type}`);
});

// Unsubscribing is its cancel: nobody waits for this one, so the engine is free at once.
await events.pipe(take(1)).forEach(({ type }) => {
  console.log(`  ${type}, and gone`);
});

console.log('\n[batch] one after the other; chapter 5 runs them together');
const results = await engine.generateBatch(['The cat', 'The dog'], size(8, 3));
for (const result of results) console.log(`  …${result.text}`);

await engine.close();
