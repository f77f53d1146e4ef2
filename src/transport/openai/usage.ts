import type { GenerateResult, RequestMetrics, SpecDecodeMetrics } from '../../core/contracts/index.ts';

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
}

/** Results are ordered by prompt; a prompt that was answered `perPrompt` times is counted once, as OpenAI does. */
export function toUsage(results: readonly GenerateResult[], perPrompt: number): Usage {
  const prompts = results.filter((_, index) => index % perPrompt === 0).map((result) => result.metrics);
  const prompt = sum(prompts.map(({ inputTokens }) => inputTokens));
  const completion = sum(results.map((result) => result.metrics.outputTokens));
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: sum(prompts.map(({ cachedTokens = 0 }) => cachedTokens)) },
  };
}

/** Throughput in tokens/s, times in ms, left out when they were not measured. */
export interface WireMetrics {
  readonly throughput: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly ttft_ms?: number;
  readonly tpot_ms?: number;
  /** With speculative decoding; the rate from 0 to 1. */
  readonly tokens_proposed?: number;
  readonly tokens_accepted?: number;
  readonly acceptance_rate?: number;
}

export function toWireMetrics(metrics: RequestMetrics): WireMetrics {
  const { specDecode } = metrics;
  return {
    throughput: round(metrics.throughput, 1),
    input_tokens: metrics.inputTokens,
    output_tokens: metrics.outputTokens,
    ...(metrics.ttftMs > 0 && { ttft_ms: round(metrics.ttftMs, 2) }),
    ...(metrics.tpotMs > 0 && { tpot_ms: round(metrics.tpotMs, 2) }),
    ...(specDecode && {
      tokens_proposed: specDecode.tokensProposed,
      tokens_accepted: specDecode.tokensAccepted,
      acceptance_rate: round(specDecode.acceptanceRate, 3),
    }),
  };
}

/**
 * Choices of one reply run side by side: its throughput is all their tokens over the longest of their times, TTFT is
 * the first token of any, TPOT the mean; drafts are added up.
 */
export function combineMetrics(results: readonly GenerateResult[], perPrompt: number): RequestMetrics {
  const all = results.map((result) => result.metrics);
  if (all.length === 1) return all[0]!;
  const { prompt_tokens: inputTokens, completion_tokens: outputTokens } = toUsage(results, perPrompt);
  const seconds = Math.max(...all.map((one) => (one.throughput > 0 ? one.outputTokens / one.throughput : 0)));
  const ttfts = all.map((one) => one.ttftMs).filter((ms) => ms > 0);
  const specDecode = combineDrafts(all.flatMap((one) => one.specDecode ?? []));
  const tpots = all.map((one) => one.tpotMs).filter((ms) => ms > 0);
  return {
    throughput: seconds > 0 ? outputTokens / seconds : 0,
    inputTokens,
    outputTokens,
    ttftMs: ttfts.length > 0 ? Math.min(...ttfts) : 0,
    tpotMs: tpots.length > 0 ? sum(tpots) / tpots.length : 0,
    ...(specDecode && { specDecode }),
  };
}

function combineDrafts(all: readonly SpecDecodeMetrics[]): SpecDecodeMetrics | undefined {
  if (all.length === 0) return undefined;
  const drafts = sum(all.map((one) => one.drafts));
  const tokensProposed = sum(all.map((one) => one.tokensProposed));
  const tokensAccepted = sum(all.map((one) => one.tokensAccepted));
  const positions = Math.max(...all.map((one) => one.acceptedPerPosition.length));
  return {
    drafts,
    tokensProposed,
    tokensAccepted,
    acceptanceRate: tokensAccepted / tokensProposed,
    acceptedPerPosition: Array.from({ length: positions }, (_, position) =>
      sum(all.map((one) => one.acceptedPerPosition[position] ?? 0)),
    ),
    meanAcceptedLength: 1 + tokensAccepted / drafts,
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
