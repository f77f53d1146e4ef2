/** FLOPs and bytes from the shapes alone: of a prompt, of a decode step, and how a batch changes their ratio. */
import { int4, llama, loadModel, profiling } from 'rxllm';
import { args } from '../support/args.ts';
import { textTable } from '../support/table.ts';

const model = await loadModel(args.model);
const { config } = model;
const { layers, hidden, intermediate, heads, kvHeads, headDim, vocab } = config;

// By hand: two FLOPs a weight and token, and all weights once.
const attention = hidden * (2 * heads + 2 * kvHeads) * headDim;
const weights = layers * (attention + 3 * hidden * intermediate) + hidden * vocab;
console.log(
  `${model.name}: ${layers} × (${attention} + 3 × ${hidden} × ${intermediate}) + ${hidden} × ${vocab} weights`,
);
console.log(`= ${(weights / 1e6).toFixed(1)} M, so a token costs ${((2 * weights) / 1e6).toFixed(1)} MFLOP and more`);
console.log(
  `with each key it looks at; a pass reads ${((4 * weights) / 1e6).toFixed(1)} MB of float32, however many tokens it has.\n`,
);

const traffic = {
  float32: profiling.weightTraffic(await llama()(model, 'contiguous').author('in-place'), config),
  int4: profiling.weightTraffic(await int4.model(model, 'contiguous').author('in-place'), config),
};
const CONTEXT = 256;
const shapes = [
  ...[1, 8, 32, 128].map(
    (batch) => [`decode, ${batch} rows at ${CONTEXT}`, profiling.decodeShape(batch, CONTEXT)] as const,
  ),
  ...[16, 128, 512].map((tokens) => [`prefill of ${tokens}`, profiling.prefillShape(1, tokens)] as const),
];
const rows = shapes.map(([name, shape]) => {
  const [float, four] = [traffic.float32, traffic.int4].map((of) =>
    profiling.passWork(config, of, 'contiguous', shape),
  );
  const mega = (value: number) => Number((value / 1e6).toFixed(1));
  const intensity = (work: profiling.PassWork) => Number((work.flops / profiling.totalBytes(work)).toFixed(1));
  return [
    name,
    mega(float!.flops),
    mega(float!.bytes.weights),
    mega(float!.bytes.kv),
    intensity(float!),
    intensity(four!),
  ];
});
console.log(textTable(['pass', 'MFLOP', 'MB of weights', 'MB of KV', 'FLOPs a byte', 'int4: FLOPs a byte'], rows));
console.log('\nA batch shares the weights, not its keys and values: at long contexts the ratio stops growing.');
