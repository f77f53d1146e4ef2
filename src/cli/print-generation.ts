import { lastValueFrom, type Observable, takeUntil, tap } from 'rxjs';
import type { Engine, GenerateRequest, GenerateResult } from '../core/contracts/index.ts';
import { DEFAULT_SAMPLING_PARAMS } from '../core/sampling/params.ts';
import { toWireMetrics } from '../transport/openai/usage.ts';

export interface Printing {
  /** One line of JSON instead of text as it comes. */
  readonly json: boolean;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** Cancels the request when it emits. */
  readonly stop$: Observable<unknown>;
}

/** Runs one request and prints it. Gives false when it was stopped: nothing but the text so far is printed then. */
export async function printGeneration(engine: Engine, request: GenerateRequest, printing: Printing): Promise<boolean> {
  const { json, stdout, stderr, stop$ } = printing;
  let shown = 0;
  const show = (text: string) => {
    if (!json && text !== '') stdout(text);
    shown += text.length;
  };
  const events = engine.stream(request).pipe(
    tap((event) => {
      if (event.type === 'token') show(event.text);
      // An engine that is one box gives no tokens, only its result.
      if (event.type === 'finished') show(event.result.text.slice(shown));
    }),
    takeUntil(stop$),
  );
  const last = await lastValueFrom(events, { defaultValue: undefined });
  if (last?.type !== 'finished') return false;
  if (json) stdout(`${JSON.stringify(toJson(engine, last.result))}\n`);
  else {
    stdout('\n');
    stderr(`\n${summary(last.result, request)}\n`);
  }
  return true;
}

function toJson(engine: Engine, { text, outputIds, finishReason, metrics }: GenerateResult) {
  return {
    engine: engine.name,
    text,
    output_ids: outputIds,
    finish_reason: finishReason,
    metrics: toWireMetrics(metrics),
  };
}

/** Figures that were not measured are left out. */
function summary({ finishReason, outputIds, metrics }: GenerateResult, { params }: GenerateRequest): string {
  const { maxTokens = DEFAULT_SAMPLING_PARAMS.maxTokens } = params ?? {};
  const isFull = finishReason === 'length' && outputIds.length < maxTokens;
  const { output_tokens, throughput, ttft_ms, tpot_ms } = toWireMetrics(metrics);
  return [
    `${output_tokens} tokens, ${throughput} tokens/s`,
    ...(ttft_ms === undefined ? [] : [`TTFT ${ttft_ms} ms`]),
    ...(tpot_ms === undefined ? [] : [`TPOT ${tpot_ms} ms`]),
    `ended by ${finishReason}${isFull ? ' (the context is full)' : ''}`,
  ].join(', ');
}
