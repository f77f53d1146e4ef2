import { map } from 'rxjs';
import type {
  Detokenized,
  EngineContext,
  FinishReason,
  SamplingParams,
  Sequence,
  SequenceId,
  Slot,
  TokenId,
} from '../core/contracts/index.ts';
import { createStopMatcher, type StopMatcher } from '../core/text/stop-matcher.ts';
import { contextLimit } from './tokenize.ts';

/**
 * Ends a sequence at an end token, a stop token, a stop string, `maxTokens` or the end of the context, cutting what was
 * produced past it; holds text back while it may still become a stop string.
 *
 *     detokenized: --d------------
 *     stopOn():    --detokenized--
 */
export const stopOn = (): Slot<Detokenized, Detokenized> => (context) => {
  const show = createStopper(context);
  return map((step) => {
    const produced = new Map<SequenceId, readonly TokenId[]>(step.produced);
    const text = new Map<SequenceId, readonly string[]>(step.text);
    for (const { sequence } of step.rows) {
      const ids = step.produced.get(sequence.id);
      const pieces = step.text.get(sequence.id);
      if (ids === undefined || pieces === undefined) continue;
      const shown = show(sequence, ids, pieces);
      produced.set(sequence.id, ids.slice(0, shown.length));
      text.set(sequence.id, shown);
    }
    return { ...step, produced, text };
  });
};

/** The text that may be shown for each new token, up to the one that ends the sequence; sets `sequence.finish` there. */
export function createStopper(context: EngineContext) {
  const matchers = new WeakMap<Sequence, StopMatcher>();
  const matcherOf = (sequence: Sequence) => {
    if (sequence.params.stop.length === 0) return undefined;
    const matcher = matchers.get(sequence) ?? createStopMatcher(sequence.params.stop);
    matchers.set(sequence, matcher);
    return matcher;
  };
  return (sequence: Sequence, ids: readonly TokenId[], pieces: readonly string[]): string[] =>
    show(sequence, ids, pieces, matcherOf(sequence), context);
}

function show(
  sequence: Sequence,
  ids: readonly TokenId[],
  pieces: readonly string[],
  matcher: StopMatcher | undefined,
  context: EngineContext,
): string[] {
  const shown: string[] = [];
  for (const [index, id] of ids.entries()) {
    const length = sequence.tokens.length + index + 1;
    const outputs = length - sequence.promptLength;
    const piece = pieces[index] ?? '';
    const early = outputs < sequence.params.minTokens;
    const seen = (early ? undefined : matcher?.push(piece)) ?? { text: piece, matched: false };
    if (seen.matched) {
      shown.push(seen.text);
      sequence.finish ??= 'stop';
      return shown;
    }
    const reason = tokenEnds(sequence, id, length, context);
    if (reason === undefined) {
      shown.push(seen.text);
      continue;
    }
    const rest = sequence.decoder.flush();
    const tail = matcher ? matcher.push(rest).text + matcher.flush() : rest;
    shown.push(seen.text + tail);
    sequence.finish ??= reason;
    return shown;
  }
  return shown;
}

/** An end token of the model, or a stop token of the request. */
export function isEndToken(
  { stopTokenIds, ignoreEos }: SamplingParams,
  id: TokenId,
  { model }: EngineContext,
): boolean {
  return stopTokenIds.includes(id) || (!ignoreEos && model.tokenizer.eosIds.has(id));
}

/** Why the sequence ends with this token, its `length`-th; undefined when it goes on. */
function tokenEnds(
  { params, promptLength }: Sequence,
  id: TokenId,
  length: number,
  context: EngineContext,
): FinishReason | undefined {
  const outputs = length - promptLength;
  if (isEndToken(params, id, context)) return 'stop';
  if (outputs >= params.maxTokens || length >= contextLimit(context)) return 'length';
  return undefined;
}
