/** A sampler from scratch: the likeliest token, or, as often as a coin falls so, the one behind it. */
import { map } from 'rxjs';
import { type Computed, createEngine, kvCache, loadModel, type Sampled, type Slot, swap } from 'rxllm';
import { args, size } from '../support/args.ts';

/** The place of the largest logit, and that of the next. */
function bestTwo(logits: Float32Array): [number, number] {
  let [first, second] = [0, 1];
  for (const [id, logit] of logits.entries()) {
    if (logit > logits[first]!) [first, second] = [id, first];
    else if (id !== first && logit > logits[second]!) second = id;
  }
  return [first, second];
}

const secondBest =
  (often: number): Slot<Computed, Sampled> =>
  ({ options: { random } }) =>
    map((step) => {
      const choose = (logits: Float32Array) => bestTwo(logits)[random() < often ? 1 : 0]!;
      const produced = new Map([...step.logits].map(([id, logits]) => [id, [choose(logits)]]));
      return { ...step, produced, failed: new Map(), late: new Set() };
    });

const model = await loadModel(args.model);
for (const often of [0, 0.2]) {
  const recipe = swap(kvCache, { name: 'second-best', sample: secondBest(often) });
  const engine = await createEngine(recipe, model);
  const { text } = await engine.generate(args.prompt, size(40, 12));
  console.log(`${often}: ${args.prompt}${text}`);
  await engine.close();
}
