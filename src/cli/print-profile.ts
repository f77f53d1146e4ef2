import type { PhasePoint } from '../bench/profile/phase-points.ts';
import type { EngineProfile } from '../bench/profile/profile-engine.ts';
import { rooflineOf } from '../bench/profile/roofline-chart.ts';
import { rooflineText } from '../bench/profile/roofline-text.ts';
import { describeProfile } from '../bench/profile/summary.ts';
import { textTable } from '../bench/text-table.ts';
import type { RunTimes } from '../core/profiling/op-times.ts';
import type { StageTime } from '../core/profiling/timeline.ts';

/** So many of a phase's ops have a line of their own. */
const OPS_SHOWN = 10;

/** For people to read. */
export function printProfile(profile: EngineProfile): string {
  const { engine, model, runtime, batch, promptTokens, maxTokens, run, ops, points, ceilings } = profile;
  const { threads, memory, cached, cachedBytes, flops } = ceilings;
  const parts = [
    `${engine} on ${model}: ${batch} × ${promptTokens} tokens in, ${maxTokens} out`,
    `${runtime}`,
    '',
    stageTable(run.stages, run.wallMs),
    '',
    ...(ops === undefined ? ['(no times of ops: they take the native runtime)', ''] : []),
    ...[...(ops ?? [])].flatMap(([phase, times]) => [opTable(phase, times), '']),
    `This machine at most, ${threads} thread${threads === 1 ? '' : 's'}:`,
    `  memory    ${giga(memory)} GB/s (a large copy); ${giga(cached)} GB/s over ${(cachedBytes / 1e6).toFixed(0)} MB, the model's weights`,
    ...Object.entries(flops).map(([kernel, rate]) => `  ${kernel.padEnd(9)} ${giga(rate)} GFLOP/s (a large product)`),
    '',
    pointTable(points),
    '',
    rooflineText(rooflineOf(profile)),
    '',
    ...describeProfile(profile),
  ];
  return `${parts.join('\n')}\n`;
}

export function stageTable(stages: readonly StageTime[], wallMs: number): string {
  const sum = stages.reduce((total, { selfMs }) => total + selfMs, 0);
  return textTable(
    ['stage', 'items', 'total ms', 'self ms', 'of wall'],
    [
      ...stages.map(({ stage, within, items, totalMs, selfMs }) => [
        within === undefined ? stage : `  ${stage}`,
        String(items).padStart(5),
        fixed(totalMs),
        fixed(selfMs),
        percent(selfMs / wallMs),
      ]),
      ['sum', '', '', fixed(sum), percent(sum / wallMs)],
      ['wall', '', '', fixed(wallMs), ''],
    ],
  );
}

export function opTable(phase: string, { runs, totalMs, ops }: RunTimes): string {
  const shown = ops.slice(0, OPS_SHOWN);
  const rest = totalMs - shown.reduce((sum, op) => sum + op.totalMs, 0);
  const table = textTable(
    [`op, ${phase}`, 'a run', 'ms a run', 'of run'],
    [
      ...shown.map((op) => [
        op.name,
        (op.count / runs).toFixed(0).padStart(5),
        fixed(op.totalMs / runs),
        percent(op.totalMs / totalMs),
      ]),
      [
        ops.length > OPS_SHOWN ? 'others, and between ops' : 'between ops',
        '',
        fixed(rest / runs),
        percent(rest / totalMs),
      ],
      [`all, mean of ${runs} run${runs === 1 ? '' : 's'}`, '', fixed(totalMs / runs), ''],
    ],
  );
  return table;
}

export function pointTable(points: readonly PhasePoint[]): string {
  return textTable(
    [
      'phase',
      'rows',
      'tokens',
      'ms a pass',
      'MB',
      'GFLOP',
      'FLOPs a byte',
      'GFLOP/s',
      'of peak',
      'GB/s',
      'of memory',
      'bound by',
    ],
    points.map((point) => [
      point.phase,
      point.rows,
      Number(point.tokens.toFixed(1)),
      point.ms.toFixed(2).padStart(9),
      (point.bytes / 1e6).toFixed(1).padStart(6),
      (point.flops / 1e9).toFixed(3).padStart(6),
      point.intensity.toFixed(1).padStart(12),
      giga(point.flopsPerS).padStart(7),
      percent(point.ofCompute),
      giga(point.bytesPerS).padStart(6),
      percent(point.ofMemory).padStart(9),
      point.bound,
    ]),
  );
}

const fixed = (ms: number) => ms.toFixed(2).padStart(8);
const giga = (value: number) => (value / 1e9).toFixed(1);
const percent = (share: number) => `${(100 * share).toFixed(1)}%`.padStart(7);
