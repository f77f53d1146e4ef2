/** A reply, pass by pass: what was drafted, and what of it stood. */
import { tap } from 'rxjs';
import { createEngine, type Observer, observe, type Settled, type Tick } from 'rxllm';
import { args, size } from '../support/args.ts';
import { textTable } from '../support/table.ts';
import { always, model } from './by-kind.ts';

const { tokenizer } = model;
const rows: string[][] = [];
const shown = (ids: readonly number[]) => ids.map((id) => tokenizer.tokenText(id).replaceAll('\n', '⏎')).join('|');

const watch: Observer = <T extends Tick>(_: unknown, stage: string) =>
  tap<T>((tick) => {
    if (stage !== 'meter') return;
    // Behind the last stage a step is settled: it has all that the stages before have learned.
    const step = tick as unknown as Settled;
    for (const { sequence, kind } of step.rows) {
      const drafted = step.drafts.get(sequence.id)?.tokens ?? [];
      const produced = step.produced.get(sequence.id) ?? [];
      const stood = produced.filter((id, i) => id === drafted[i]).length;
      rows.push([kind, shown(drafted), shown(produced.slice(0, stood)), shown(produced.slice(stood))]);
    }
  });

const engine = await createEngine(observe(always(4), watch), model);
const { text, metrics } = await engine.generate(args.prompt, size(48, 12), { ignoreEos: true });
await engine.close();

console.log(textTable(['pass', 'drafted', 'stood', "the target's own"], rows));
console.log(`\n${args.prompt}${text}`);
const { drafts = 0, meanAcceptedLength = 1 } = metrics.specDecode ?? {};
console.log(
  `\n${metrics.outputTokens} tokens, ${drafts} drafts, ${meanAcceptedLength.toFixed(2)} tokens a verify pass`,
);
