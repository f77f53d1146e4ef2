/**
 * Own cost of each operator: one step of 8 decoding rows through it alone, on the embedded model's tokenizer and
 * vocabulary. Beside a forward pass of some milliseconds each of them should be small.
 */
import { readFile } from 'node:fs/promises';
import { type OperatorFunction, Subject } from 'rxjs';
import { Bench } from 'tinybench';
import { EMBEDDED_MODEL } from '../src/cli/options.ts';
import type { Detokenized, SamplingParams, Sequence, Slot } from '../src/core/contracts/index.ts';
import { contiguousSlots } from '../src/core/memory/contiguous-slots.ts';
import { loadModel } from '../src/core/model/load-model.ts';
import { createRandom } from '../src/core/sampling/random.ts';
import { nextRow, type Policy } from '../src/core/scheduling/policy.ts';
import { resolveOptions } from '../src/engines/options.ts';
import { allocateBlocks } from '../src/operators/allocate-blocks.ts';
import { detokenize } from '../src/operators/detokenize.ts';
import { meter } from '../src/operators/meter.ts';
import { sample } from '../src/operators/sample.ts';
import { schedule } from '../src/operators/schedule.ts';
import { settle } from '../src/operators/settle.ts';
import { stopOn } from '../src/operators/stop-on.ts';
import { createSequence, tokenize } from '../src/operators/tokenize.ts';
import { decodeRow, emptyStep, operatorContext } from '../test/support/context.ts';

const ROWS = 8;
/** Of each sequence: 64 of a prompt, 63 of an output, and one that is still to run. */
const LENGTH = 128;

const model = await loadModel(EMBEDDED_MODEL);
const story = await readFile(new URL('../models/eval/stories-eval.txt', import.meta.url), 'utf8');
const ids = model.tokenizer.encode(story.slice(0, 20_000));
const random = createRandom(0);
/** Normal with deviation 3. */
const logit = () => 3 * Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
const logits = Array.from({ length: ROWS }, () => Float32Array.from({ length: model.config.vocab }, logit));

const everyone: Policy = (state) => ({
  admitted: [],
  rows: state.running.map((sequence) => nextRow(sequence, state, 512)),
});

/** An operator by itself, in a context of its own with 8 running sequences, and the step that stands before it. */
function alone<I, O>(
  slot: Slot<I, O>,
  toInput: (step: Detokenized) => I,
  params: Partial<SamplingParams> = {},
): () => void {
  const options = resolveOptions(model, {});
  const kv = contiguousSlots({ slots: ROWS })(model, options);
  const context = operatorContext(options.clock, { model, options, kv });
  const running = Array.from({ length: ROWS }, (_, row) => {
    const prompt = ids.slice(row * 200, row * 200 + LENGTH / 2);
    const sequence = createSequence({ prompt, params: { maxTokens: 1e6, ...params } }, prompt, context);
    sequence.phase = 'running';
    sequence.tokens.push(...ids.slice(row * 200 + LENGTH / 2, row * 200 + LENGTH));
    sequence.computed = LENGTH - 1;
    kv.reserve(sequence, LENGTH);
    return sequence;
  });
  context.running.push(...running);

  const input$ = new Subject<I>();
  let outputs = 0;
  input$.pipe(slot(context) as OperatorFunction<I, O>).subscribe(() => outputs++);
  let index = 0;
  return () => {
    const before = outputs;
    input$.next(toInput(stepOf(running, index++)));
    if (outputs === before) throw new Error('the operator gave nothing');
    for (const sequence of running) restore(sequence);
  };
}

/** All that stages before could have found out; each step has other tokens. */
function stepOf(running: readonly Sequence[], index: number): Detokenized {
  const chosen = running.map(({ id }, row) => [id, [ids[(index * ROWS + row * 100) % ids.length]!]] as const);
  return emptyStep({
    index,
    rows: running.map(decodeRow),
    reservations: new Map(running.map(({ id, blocks }) => [id, { blocks }])),
    logits: new Map(running.map(({ id }, row) => [id, logits[row]!])),
    produced: new Map(chosen),
    text: new Map(chosen.map(([id, [token]]) => [id, [words[token!] ?? '']])),
  });
}

/** As before the step, so that the next one is no longer. */
function restore(sequence: Sequence): void {
  sequence.tokens.length = LENGTH;
  sequence.computed = LENGTH - 1;
  sequence.text = '';
}

const words = Array.from({ length: model.config.vocab }, (_, id) => model.tokenizer.tokenText(id));
const prompts = Array.from({ length: ROWS }, (_, row) => story.slice(row * 300, row * 300 + 300));

function tokenizing(): () => void {
  const options = resolveOptions(model, {});
  const kv = contiguousSlots({ slots: ROWS })(model, options);
  const context = operatorContext(options.clock, { model, options, kv });
  const request$ = new Subject<{ prompt: string }>();
  let tokens = 0;
  request$.pipe(tokenize()(context)).subscribe((sequence) => {
    tokens += sequence.promptLength;
  });
  return () => {
    const before = tokens;
    for (const prompt of prompts) request$.next({ prompt });
    if (tokens === before) throw new Error('there are no tokens');
  };
}

const whole = (step: Detokenized) => step;
const bench = new Bench({ time: 1000, warmupTime: 200 });
bench
  .add(
    '(the step itself)',
    alone(() => (step$) => step$, whole),
  )
  .add('tokenize, 8 prompts of 300 characters', tokenizing())
  .add(
    'schedule',
    alone(schedule(everyone), ({ index, now }) => ({ index, now })),
  )
  .add('allocateBlocks', alone(allocateBlocks(), whole))
  .add('sample, greedy', alone(sample(), whole))
  .add('sample, temperature 0.8, top-p 0.95', alone(sample(), whole, { temperature: 0.8, topP: 0.95, seed: 1 }))
  .add('detokenize', alone(detokenize(), whole))
  .add('stopOn', alone(stopOn(), whole))
  .add('stopOn, 3 stop strings', alone(stopOn(), whole, { stop: ['The end.', '\n\n', '<|user|>'] }))
  .add('settle', alone(settle(), whole))
  .add(
    'meter',
    alone(meter(), (step) => ({ ...step, events: new Map() })),
  );
await bench.run();
console.table(
  bench.tasks.map(({ name, result }) => {
    if (!('latency' in result)) throw new Error(`${name}: ${JSON.stringify(result)}`);
    const { p50, p99 } = result.latency;
    return { operator: name, 'median, µs a step': (p50 * 1000).toFixed(1), p99: (p99 * 1000).toFixed(1) };
  }),
);
