import { expect, it } from 'vitest';
import type { GenerateResult, RequestMetrics } from '../../core/contracts/index.ts';
import { combineMetrics, toWireMetrics } from './usage.ts';

const result = (tokensAccepted: number): GenerateResult => ({
  text: '',
  outputIds: [],
  finishReason: 'stop',
  metrics: {
    throughput: 10,
    inputTokens: 3,
    outputTokens: 9,
    ttftMs: 0,
    tpotMs: 0,
    specDecode: {
      drafts: 2,
      tokensProposed: 8,
      tokensAccepted,
      acceptanceRate: tokensAccepted / 8,
      acceptedPerPosition: [2, tokensAccepted - 2],
      meanAcceptedLength: 1 + tokensAccepted / 2,
    },
  },
});

it('tells what came of drafts, and nothing where there were none', () => {
  const { metrics } = result(3);
  expect(toWireMetrics(metrics)).toMatchObject({ tokens_proposed: 8, tokens_accepted: 3, acceptance_rate: 0.375 });
  const { specDecode: _, ...plain } = metrics;
  expect(Object.keys(toWireMetrics(plain satisfies RequestMetrics))).toEqual([
    'throughput',
    'input_tokens',
    'output_tokens',
  ]);
});

it('adds up the drafts of a reply’s choices', () => {
  expect(combineMetrics([result(3), result(4)], 1).specDecode).toEqual({
    drafts: 4,
    tokensProposed: 16,
    tokensAccepted: 7,
    acceptanceRate: 7 / 16,
    acceptedPerPosition: [4, 3],
    meanAcceptedLength: 1 + 7 / 4,
  });
});
