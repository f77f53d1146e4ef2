/** Memory and time of a prompt against its length, naive and flash; and the two engines in turn on one request. */
import { writeFileSync } from 'node:fs';
import { flashAttention, staticBatch } from 'rxllm';
import { median, quartiles } from 'rxllm/bench';
import { prefillTimes, SMOLLM_LAYERS, withSmolLmLayers } from '../../bench/support/prefill-bench.ts';
import { prefillMemory } from '../../bench/support/prefill-memory.ts';
import { args, size } from '../support/args.ts';
import { beforeAndAfter } from '../support/before-and-after.ts';
import { lineChart } from '../support/line-chart.ts';
import { writeMeasured } from '../support/measured.ts';
import { markdownTable } from '../support/table.ts';

const LENGTHS = args.quick ? [128, 256] : [256, 512, 1024, 1536, 2048];
const ATTENTIONS = ['naive', 'flash', 'fused'] as const;
const ROUNDS = size(7, 1);

const longest = LENGTHS.at(-1)!;
const { alive, held, times } = await withSmolLmLayers(async (directory) => {
  const memory: number[][] = [];
  for (const tokens of LENGTHS) {
    const of = (attention: (typeof ATTENTIONS)[number]) =>
      prefillMemory({ directory, attention, tokens, arena: false });
    memory.push([await of('naive'), await of('flash')]);
  }
  const settings = { directory, tokens: longest, arena: true };
  return {
    alive: memory,
    held: [
      await prefillMemory({ ...settings, attention: 'naive' }),
      await prefillMemory({ ...settings, attention: 'flash' }),
    ],
    times: await prefillTimes(directory, ATTENTIONS, { tokens: longest, rounds: ROUNDS }),
  };
});

if (!args.quick) {
  const series = ['naive', 'flash'].map((name, column) => ({
    name,
    points: LENGTHS.map((tokens, at) => [tokens, alive[at]![column]!] as const),
  }));
  const title = 'Memory that a prompt in one chunk adds, at its peak';
  writeFileSync(
    new URL('memory.svg', import.meta.url),
    lineChart({ title, x: 'tokens in the prompt', y: 'MiB', series }),
  );
}

const ratios = times.flash.map((ms, round) => ms / times.naive[round]!);
const rows = LENGTHS.map((tokens, at) => [tokens, ...alive[at]!, Number((alive[at]![0]! / alive[at]![1]!).toFixed(1))]);
const ms = ATTENTIONS.map((attention) => `${attention} ${median(times[attention]).toFixed(0)} ms`).join(', ');
writeMeasured(
  import.meta.url,
  `![Memory against the prompt's length](memory.svg)

${markdownTable(['tokens in the prompt', 'naive, MiB', 'flash, MiB', 'naive / flash'], rows)}

${SMOLLM_LAYERS.layers} layers of SmolLM2-135M's shape. With the arena, ${longest} tokens hold ${held[0]} MiB under naive and ${held[1]} MiB under flash.

Prefill of ${longest} tokens: ${ms}. Flash over naive: ${median(ratios).toFixed(2)} (${quartiles(ratios, 2)}; median of ${ROUNDS} pairs in turn, quartiles).

${await beforeAndAfter([staticBatch.name, flashAttention.name], { pairs: size(7, 1), maxTokens: size(128, 4) })}`,
);
