import { firstValueFrom, of } from 'rxjs';
import type { Model, Sequence, SequenceId, StagedRecipe } from '../../core/contracts/index.ts';
import { RxllmError } from '../../core/errors.ts';
import { useGrammars } from '../../core/grammar/use-grammars.ts';
import { type RecordedStep, type RecordLine, recordedStep } from '../../core/recording/lines.ts';
import { createRandom } from '../../core/sampling/random.ts';
import { pause, resume } from '../../core/scheduling/pause.ts';
import { withdraw } from '../../core/scheduling/withdraw.ts';
import { resolveOptions } from '../options.ts';
import { disposeAll } from '../run/dispose-all.ts';
import { engineContext } from '../run/engine-context.ts';
import { replayedSequence } from './replayed-sequence.ts';
import { replayedSteps } from './replayed-steps.ts';

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
 * what each step plans and tells. Time is the recording's, so a policy that looks at the clock decides alike. A step that
 * failed fails again, in the same stage.
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
  const late = new Set<SequenceId>();
  const find = (id: SequenceId): Sequence => {
    const sequence = sequences.get(id);
    if (sequence) return sequence;
    throw new RxllmError('RXLLM_INVALID_REQUEST', `The recording speaks of "${id}", which has not arrived.`);
  };

  try {
    const stepper = replayedSteps(recipe, context);
    await Promise.all(context.owned);
    let steps = 0;
    for (const line of rest) {
      switch (line.type) {
        case 'arrive': {
          now = line.request.arrivedAt;
          const sequence = await replayedSequence(line.request, context, { sequences, late, openGrammar });
          sequences.set(sequence.id, sequence);
          context.waiting.push(sequence);
          break;
        }
        case 'cancel':
        case 'abort': {
          const sequence = find(line.id);
          // It may have ended with a step that failed.
          const end = () => sequence.phase !== 'finished' && withdraw(sequence, line.type, context);
          if (line.during) stepper.during(end);
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
          now = line.now;
          const { index, rows, preempted, events, failed } = line;
          if (failed !== undefined) {
            await stepper.fail({ index, now }, failed);
            break;
          }
          for (const id of line.late ?? []) late.add(id);
          // However long they take here: who is late is the recording's to say.
          await Promise.all(rows.map(([id]) => firstValueFrom(find(id).grammar?.ready$ ?? of(undefined))));
          const step = await stepper.run({ index, now });
          steps += 1;
          const recorded = { rows, preempted, ...(line.late && { late: line.late }), events };
          const replayed = recordedStep(step);
          if (JSON.stringify(recorded) !== JSON.stringify(replayed)) {
            return { steps, parting: { index, recorded, replayed } };
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
