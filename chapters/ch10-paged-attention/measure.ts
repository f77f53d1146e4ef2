/** The two engines in turn on one request; how many fit in 64 MiB and what that gives; what gathering costs a step. */
import { basename } from 'node:path';
import { contiguousSlots, continuous, createEngine, loadModel, paged, pagedBlocks } from 'rxllm';
import { median, quartiles } from 'rxllm/bench';
import { pagedAgainstContiguous } from '../../bench/support/paged-against-contiguous.ts';
import { randomSmolLm } from '../../bench/support/random-model.ts';
import { args, size } from '../support/args.ts';
import { beforeAndAfter } from '../support/before-and-after.ts';
import { howManyFit, requestsToFit, runAll } from '../support/how-many-fit.ts';
import { writeMeasured } from '../support/measured.ts';
import { markdownTable } from '../support/table.ts';

const PAIRS = size(15, 1);
const ratio = (ratios: readonly number[]) => `${median(ratios).toFixed(2)} (${quartiles(ratios, 2)})`;

const model = await loadModel(args.model);
const options = { kvCacheMemoryMiB: 64, maxModelLen: 2048, maxNumSeqs: 64 };
const [count, output] = [size(32, 6), size(64, 3)];

/** The same requests in the same memory, the engines in turn. */
async function inTheSameMemory(): Promise<string> {
  const engines = [await createEngine(continuous, model, options), await createEngine(paged, model, options)];
  const rounds: Awaited<ReturnType<typeof runAll>>[][] = [];
  for (let pair = 0; pair < size(7, 1); pair++) {
    const round = [];
    for (const engine of engines) round.push(await runAll(engine, requestsToFit(count, output)));
    rounds.push(round);
  }
  for (const engine of engines) await engine.close();
  const fitting = [contiguousSlots(), pagedBlocks()].map((slot) => howManyFit(slot, model, options));
  const rows = engines.map(({ name }, i) => {
    const { atOnce, steps } = rounds[0]![i]!;
    const { count: fits, empty } = fitting[i]!;
    const speed = Math.round(median(rounds.map((round) => round[i]!.tokensPerS)));
    return [`\`${name}\``, fits, Math.round(empty / fits), atOnce, steps, speed];
  });
  const ratios = rounds.map(([before, after]) => after!.tokensPerS / before!.tokensPerS);
  const head = ['engine', 'sequences that fit', 'tokens empty a sequence', `of ${count} at once`, 'steps', 'tokens/s'];
  return `${markdownTable(head, rows)}

64 MiB, sequences of 150 to 250 tokens, ${output} of them generated. Tokens/s, paged over contiguous: ${ratio(ratios)}.`;
}

async function step(directory: string): Promise<string> {
  const rows: string[][] = [];
  for (const batch of [1, 8].slice(0, size(2, 1))) {
    for (const context of [128, 1024].slice(0, size(2, 1))) {
      const turns = { pairs: PAIRS, steps: size(10, 2) };
      const { paged, contiguous, ratios } = await pagedAgainstContiguous({ directory, batch, context }, turns);
      const ms = (times: readonly number[]) => median(times).toFixed(2);
      rows.push([`${batch}`, `${context}`, ms(paged), ms(contiguous), ratio(ratios)]);
    }
  }
  return `${markdownTable(['batch', 'context', 'paged, ms', 'contiguous, ms', 'ratio'], rows)}

A decode step, ${basename(directory)}, ${PAIRS} pairs in turn (median of the pairs, quartiles).`;
}

const compared = await beforeAndAfter([continuous.name, paged.name], { pairs: PAIRS, maxTokens: size(128, 4) });
writeMeasured(
  import.meta.url,
  [
    compared,
    await inTheSameMemory(),
    await step(model.directory),
    ...(args.quick ? [] : [await step(await randomSmolLm())]),
  ].join('\n\n'),
);
