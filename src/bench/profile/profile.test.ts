import { describe, expect, it } from 'vitest';
import { modelDirectory } from '../../../test/support/models.ts';
import { loadModel } from '../../core/model/load-model.ts';
import { findEngine } from '../../engines/index.ts';
import { copyBandwidth } from './copy-bandwidth.ts';
import { KERNELS, matmulRate } from './matmul-rate.ts';
import { phaseOf } from './phase.ts';
import { phasePoints } from './phase-points.ts';
import { type EngineProfile, type ProfileJob, profileEngine, profileParts } from './profile-engine.ts';
import { rooflineChart, rooflineOf } from './roofline-chart.ts';
import { rooflineText } from './roofline-text.ts';
import type { PassRecord } from './stage-run.ts';
import { describeProfile } from './summary.ts';

const roofs = { flopsPerS: 200e9, bytesPerS: 20e9 };
const pass = (phase: 'prefill' | 'decode', rows: number, ms: number, more: Partial<PassRecord> = {}): PassRecord => ({
  phase,
  rows,
  tokens: rows,
  flops: rows * 20e6,
  bytes: 40e6,
  ms,
  ...more,
});

describe('the ceilings', () => {
  it('are a copy’s and a product’s, by every kernel', async () => {
    expect(await copyBandwidth({ threads: 2, bytes: 2 ** 20 })).toBeGreaterThan(0);
    for (const kernel of KERNELS) {
      expect(await matmulRate(kernel, { threads: 1, side: 64, rounds: 2 })).toBeGreaterThan(0);
    }
  });
});

describe('phaseOf', () => {
  const ids = [[1, 2, 3], [4]];
  it('tells decode by where a row starts, or without a cache by its length', () => {
    expect(phaseOf({ ids, positions: [0, 2] }, 'contiguous', 3)).toBe('prefill');
    expect(phaseOf({ ids, positions: [0, 3] }, 'paged', 3)).toBe('decode');
    expect(phaseOf({ ids, positions: [0, 0] }, 'none', 3)).toBe('prefill');
    expect(phaseOf({ ids, positions: [0, 0] }, 'none', 2)).toBe('decode');
  });
});

describe('phasePoints', () => {
  it('places each phase by its rows, on average', () => {
    const decode = [1, 3, 2, 2].map((ms) => pass('decode', 4, ms));
    const points = phasePoints([pass('prefill', 1, 10, { tokens: 100, flops: 1e9 }), ...decode], roofs);
    expect(points).toMatchObject([
      { phase: 'prefill', rows: 1, passes: 1, tokens: 100, ms: 10, intensity: 25, ofCompute: 0.5, bound: 'compute' },
      { phase: 'decode', rows: 4, passes: 4, tokens: 4, ms: 2, intensity: 2, ofMemory: 1, bound: 'memory' },
    ]);
  });

  it('leaves out what came up while a batch emptied', () => {
    const decode = [...Array.from({ length: 9 }, () => pass('decode', 8, 1)), pass('decode', 7, 1)];
    expect(phasePoints(decode, roofs).map(({ rows }) => rows)).toEqual([8]);
  });
});

describe('describeProfile', () => {
  /** What is said of a batch of 4, whose passes take so long, against passes of 1 that take a millisecond. */
  const gainOf = (ms: number) => {
    const profile = {
      points: phasePoints([pass('decode', 1, 1), pass('decode', 1, 1), pass('decode', 4, ms)], roofs),
      roofs,
      ceilings: { memory: 1e12 },
      traffic: { kernel: 'float32' },
      run: { stages: [], passes: [], wallMs: 1 },
    };
    return describeProfile(profile as unknown as EngineProfile).at(-1);
  };

  it.each([
    [2, 'takes 2.0 times as long and gives 2.0 times as many tokens a second, since its weights are read once'],
    [5, 'takes 5.0 times as long and gives 0.8 times as many tokens a second.'],
    [0.8, 'From batch 1 to 4 a decode pass did not take longer: 1 passes are too few to compare here'],
  ])('of a batch whose passes take %d times as long', (ms, says) => {
    expect(gainOf(ms)).toContain(says);
  });
});

describe('the pictures', () => {
  const roofline = {
    title: 'a < b',
    roofs,
    cachedBytesPerS: 40e9,
    series: [
      { name: 'prefill', points: [{ label: '1', intensity: 100, flopsPerS: 100e9 }] },
      { name: 'decode', points: [{ label: '8', intensity: 1, flopsPerS: 10e9 }] },
    ],
  };

  it('draws the roofs, which meet at the ridge, and a dot for each point, for light and dark pages', () => {
    const svg = rooflineChart(roofline);
    // Two decades across, from 1 to 100, and two up, from 10 to 1000 GFLOP/s; the ridge is at 10.
    expect(svg).toContain('d="M62 271.7L343 137.7L624 137.7"');
    expect(svg.match(/stroke-dasharray/g)).toHaveLength(1);
    expect(svg).toContain('<circle fill="var(--s1)" cx="62" cy="312" r="5"/>');
    expect(svg.match(/<circle /g)).toHaveLength(2 + 2);
    expect(svg).toContain('a &#60; b');
    expect(svg).toContain('prefers-color-scheme: dark');
  });

  it('draws the same on a terminal', () => {
    const lines = rooflineText(roofline).split('\n');
    expect(lines.map((line) => line.length).every((length) => length <= 90)).toBe(true);
    expect(lines.find((line) => line.startsWith('      10 │'))).toMatch(/│D8/);
    expect(lines.find((line) => line.includes('P1'))).toBeDefined();
    expect(lines.some((line) => /\/─{20}/.test(line))).toBe(true);
  });
});

describe('profileEngine', async () => {
  const model = await loadModel(modelDirectory('storyteller-draft'));
  const ceilings = { threads: 1, copyBytes: 2 ** 22, side: 64, rounds: 1 };
  const job: ProfileJob = { prompt: 12, maxTokens: 6, batch: 2, by: 'op', ceilings };

  it.each(['transformer', 'continuous-batching', 'int4', 'speculative'])(
    '%s: stages, ops and points of both phases',
    async (name) => {
      const result = await profileEngine(findEngine(name).recipe, model, job);
      const { run, points, ops, traffic } = result;
      // The profile's clock and the one beside it see the same time, but for starting and stopping them.
      const sum = run.stages.reduce((total, { selfMs }) => total + selfMs, 0);
      expect(Math.abs(sum - run.wallMs)).toBeLessThan(0.05 * run.wallMs + 1);
      expect(new Set(points.map(({ phase }) => phase))).toEqual(new Set(['prefill', 'decode']));
      const tokens = run.passes.filter(({ phase }) => phase === 'prefill').reduce((all, pass) => all + pass.tokens, 0);
      expect(tokens).toBe(2 * 12);
      for (const phase of ['prefill', 'decode'] as const) {
        expect(ops!.get(phase)!.ops[0]!.totalMs).toBeGreaterThan(0);
      }
      expect(traffic.kernel).toBe(name === 'int4' ? 'int4' : 'float32');
      expect(describeProfile(result).join('\n')).toMatch(/Prefill of \d+ tokens[\s\S]*Decode at batch \d moves/);
      expect(rooflineChart(rooflineOf(result))).toContain(`${name} on storyteller-draft`);
    },
  );

  it('sees the rows of a batch', async () => {
    const { points } = await profileEngine(findEngine('continuous-batching').recipe, model, job);
    expect(points.filter(({ phase }) => phase === 'decode').map(({ rows, tokens }) => [rows, tokens])).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });

  it('tells of each part that it has measured', async () => {
    let parts = 0;
    const advance = () => {
      parts += 1;
    };
    await profileEngine(findEngine('kv-cache').recipe, model, { ...job, maxTokens: 2, batch: 3, advance });
    expect(parts).toBe(profileParts(3));
  });

  it('refuses what is longer than the context', async () => {
    const long = { ...job, prompt: model.config.maxPositions };
    await expect(profileEngine(findEngine('kv-cache').recipe, model, long)).rejects.toMatchObject({
      code: 'RXLLM_CONTEXT_LENGTH_EXCEEDED',
      message: expect.stringContaining('--prompt-tokens'),
    });
  });
});
