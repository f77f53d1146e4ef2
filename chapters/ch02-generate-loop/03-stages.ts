/** What each stage adds to the step, seen by an observer behind every one of them, for the first two turns of the loop. */
import { tap } from 'rxjs';
import { createEngine, generateLoop, loadModel, type Observer, observe, type Settled, type Tick } from 'rxllm';
import { args } from '../support/args.ts';

/** The new part of a step, in words. Which fields are there is known by the stage. */
function added(stage: string, step: Settled): string {
  const [row] = step.rows;
  if (row === undefined) return 'nothing to do: the loop will sleep';
  const { id } = row.sequence;
  switch (stage) {
    case 'schedule':
      return `rows: ${row.kind} of ${row.newTokens} tokens`;
    case 'allocate':
      return `reservations: ${step.reservations.get(id)?.blocks.length} blocks, for nothing is cached`;
    case 'prefill':
    case 'decode':
      return stage === row.kind ? `logits: Float32Array(${step.logits.get(id)?.length})` : '(not its turn)';
    case 'sample':
      return `produced: ${step.produced.get(id)?.join(' ')}`;
    case 'settle':
      return `events: ${step.events
        .get(id)
        ?.map(({ type }) => type)
        .join(', ')}`;
    case 'meter':
      return 'times, in the last event';
    default:
      return `text: ${JSON.stringify(step.text.get(id)?.join(''))}`;
  }
}

const watch: Observer = <T extends Tick>(_: unknown, stage: string) =>
  tap<T>((step) => console.log(`  ${step.index}  ${stage.padEnd(10)} ${added(stage, step as unknown as Settled)}`));

const engine = await createEngine(observe(generateLoop, watch), await loadModel(args.model));
const { text } = await engine.generate(args.prompt, 2);
await engine.close();
console.log(`\n${args.prompt} …${text}`);
