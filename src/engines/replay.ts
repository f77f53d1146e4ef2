import { firstValueFrom, of, tap } from 'rxjs';
import type { Computed, EngineContext, Model, Sequence, SequenceId, StagedRecipe } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { type OpenGrammar, useGrammars } from '../core/grammar/use-grammars.ts';
import { type RecordedRequest, type RecordedStep, type RecordLine, recordedStep } from '../core/recording/lines.ts';
import { createRandom } from '../core/sampling/random.ts';
import { pause, resume } from '../core/scheduling/pause.ts';
import { withdraw } from '../core/scheduling/withdraw.ts';
import { createSequence, withGrammar } from '../operators/tokenize.ts';
import { compose } from './compose.ts';
import { disposeAll } from './dispose-all.ts';
import { engineContext } from './engine-context.ts';
import { resolveOptions } from './options.ts';
import { replayedMatcher } from './replayed-matcher.ts';
import { pipeSlots } from './swap.ts';

/** The first step in which the run differs from its recording. */
export interface Parting {
  readonly index: number;
  readonly recorded: RecordedStep;
  readonly replayed: RecordedStep;
}

export interface Replayed {
  readonly steps: number;
  readonly parting?: Parting;
}

/**
 * Takes the steps of a recording again, with the arrivals, cancels and pauses at the places where they were, and compares
 * what each step plans and tells. Time is the recording's, so a policy that looks at the clock decides alike.
 * @throws RxllmError `RXLLM_INVALID_REQUEST` when the lines are no recording
 */
export async function replay(recipe: StagedRecipe, model: Model, lines: readonly RecordLine[]): Promise<Replayed> {
  const [header, ...rest] = lines;
  if (header?.type !== 'engine') {
    throw new RxllmError('RXLLM_INVALID_REQUEST', 'The recording does not begin with its "engine" line.');
  }
  let now = 0;
  const { schedule } = resolveOptions(model, {}).clock;
  const options = resolveOptions(model, {
    ...header.options,
    clock: { now: () => now, schedule },
    random: createRandom(header.seed),
  });
  const context = await engineContext(recipe, model, options);
  const openGrammar = useGrammars(context);
  const sequences = new Map<SequenceId, Sequence>();
  /** Whose mask was late in the recording, and has not come yet. */
  const late = new Set<SequenceId>();
  const find = (id: SequenceId): Sequence => {
    const sequence = sequences.get(id);
    if (sequence) return sequence;
    throw new RxllmError('RXLLM_INVALID_REQUEST', `The recording speaks of "${id}", which has not arrived.`);
  };

  /** What happened while the passes of the coming step ran. */
  let during: (() => void)[] = [];
  const meanwhile = () =>
    tap<Computed>(() => {
      for (const happen of during.splice(0)) happen();
    });

  try {
    const stages = compose({ ...recipe, decode: pipeSlots(recipe.decode, meanwhile) }, context);
    await Promise.all(context.owned);
    let steps = 0;
    for (const line of rest) {
      switch (line.type) {
        case 'arrive':
          now = line.request.arrivedAt;
          sequences.set(line.request.id, await arrive(line.request, context, { sequences, late, openGrammar }));
          break;
        case 'cancel':
        case 'abort': {
          const end = () => withdraw(find(line.id), line.type, context);
          if (line.during) during.push(end);
          else end();
          break;
        }
        case 'pause':
          pause(find(line.id), line.at);
          break;
        case 'resume':
          resume(find(line.id), context);
          break;
        case 'mask':
          late.delete(line.id);
          break;
        case 'step': {
          if (line.failed) break;
          now = line.now;
          for (const id of line.late ?? []) late.add(id);
          // However long they take here: who is late is the recording's to say.
          await Promise.all(line.rows.map(([id]) => firstValueFrom(find(id).grammar?.ready$ ?? of(undefined))));
          const step = await firstValueFrom(of({ index: line.index, now }).pipe(stages));
          during = [];
          steps += 1;
          const { rows, preempted, events } = line;
          const recorded = { rows, preempted, ...(line.late && { late: line.late }), events };
          const replayed = recordedStep(step);
          if (JSON.stringify(recorded) !== JSON.stringify(replayed)) {
            return { steps, parting: { index: line.index, recorded, replayed } };
          }
          break;
        }
        case 'engine':
          throw new RxllmError('RXLLM_INVALID_REQUEST', 'The recording has a second "engine" line.');
      }
    }
    return { steps };
  } finally {
    await disposeAll(context);
  }
}

interface Arrivals {
  readonly sequences: ReadonlyMap<SequenceId, Sequence>;
  readonly late: ReadonlySet<SequenceId>;
  readonly openGrammar: OpenGrammar;
}

async function arrive(
  { id, tokens, params, priority, cacheSalt, parent }: RecordedRequest,
  context: EngineContext,
  { sequences, late, openGrammar }: Arrivals,
): Promise<Sequence> {
  const { logitBias, ...rest } = params;
  const request = {
    id,
    prompt: tokens,
    params: logitBias ? { ...rest, logitBias: new Map(logitBias) } : rest,
    ...(priority === undefined ? {} : { priority }),
    ...(cacheSalt === undefined ? {} : { cacheSalt }),
  };
  const matcher = await firstValueFrom(openGrammar(rest.responseFormat));
  const grammar = matcher && replayedMatcher(matcher, () => late.has(id));
  const sequence = withGrammar(createSequence(request, [...tokens], context), grammar);
  const shared = parent === undefined ? undefined : sequences.get(parent);
  if (shared !== undefined) sequence.parent = shared;
  context.waiting.push(sequence);
  return sequence;
}
