import { concatMap, defer, finalize, last, map, type Observable, of, repeat, takeWhile, tap } from 'rxjs';
import type {
  EngineContext,
  ForwardBatch,
  GenerateRequest,
  GenerateResult,
  Sequence,
  Slot,
} from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { samplerOf } from '../core/sampling/sampler-of.ts';
import { piecesOf } from './detokenize.ts';
import { resultOf } from './settle.ts';
import { createStopper } from './stop-on.ts';
import { tokenize } from './tokenize.ts';

/**
 * Text in, result out: a whole engine in one operator. Inside it runs all tokens through the model, samples one more, and
 * repeats until the end; outside nothing of that can be seen, so TTFT and TPOT are 0, not measured.
 *
 *     requests:        --r------------------
 *     generateWhole(): -----------result----   (after as many forward passes as the result has tokens)
 */
export const generateWhole = (): Slot<GenerateRequest, GenerateResult> => (context) => {
  const begin = tokenize()(context);
  const generate = createGenerator(context);
  return concatMap((request) => of(request).pipe(tap(refuseLogprobs), begin, concatMap(generate)));
};

/** Runs one sequence from its first token to its last. */
function createGenerator(context: EngineContext): (sequence: Sequence) => Observable<GenerateResult> {
  const { runner, options } = context;
  const show = createStopper(context);
  return (sequence) => {
    const { grammar } = sequence;
    const sampler = samplerOf(sequence, context);
    return defer(() => runner.forward(wholeOf(sequence))).pipe(
      concatMap((logits) => (grammar?.ready$ ?? of(undefined)).pipe(map(() => logits))),
      tap(({ data }) => {
        const { id } = sampler.sample(data, sequence.tokens, sequence.promptLength);
        sequence.text += show(sequence, [id], piecesOf(sequence, [id])).join('');
        sequence.tokens.push(id);
      }),
      repeat({ delay: options.betweenSteps }),
      takeWhile(() => sequence.finish === undefined, true),
      last(),
      map(() => measured(sequence, options.clock.now())),
      finalize(() => grammar?.dispose()),
    );
  };
}

/** All tokens so far, from the first: nothing is kept between passes. */
function wholeOf({ tokens }: Sequence): ForwardBatch {
  const width = tokens.length;
  return { rows: 1, width, ids: [[...tokens]], positions: [0], blockTables: [[]], logitsAt: [width - 1] };
}

function measured(sequence: Sequence, now: number): GenerateResult {
  const result = resultOf(sequence);
  const elapsed = now - sequence.arrivedAt;
  const throughput = elapsed > 0 ? (result.outputIds.length * 1000) / elapsed : 0;
  return { ...result, metrics: { ...result.metrics, throughput } };
}

function refuseLogprobs({ params }: GenerateRequest): void {
  if (params?.logprobs === undefined) return;
  throw new RxllmError(
    'RXLLM_INVALID_REQUEST',
    'logprobs: this engine gives whole results and no events a token; leave the field out, or take an engine with stages.',
    { param: 'logprobs' },
  );
}
