import { firstValueFrom } from 'rxjs';
import type { EngineContext, Sequence, SequenceId } from '../../core/contracts/index.ts';
import type { OpenGrammar } from '../../core/grammar/use-grammars.ts';
import type { RecordedRequest } from '../../core/recording/lines.ts';
import { createSequence, withGrammar } from '../../operators/tokenize.ts';
import { replayedMatcher } from './replayed-matcher.ts';

export interface Arrivals {
  /** Who has arrived so far. */
  readonly sequences: ReadonlyMap<SequenceId, Sequence>;
  /** Whose mask was late in the recording, and has not come yet. */
  readonly late: ReadonlySet<SequenceId>;
  readonly openGrammar: OpenGrammar;
}

/** The sequence that a recorded request became, as it was when it arrived. */
export async function replayedSequence(
  { id, tokens, params, priority, cacheSalt, parent }: RecordedRequest,
  context: EngineContext,
  { sequences, late, openGrammar }: Arrivals,
): Promise<Sequence> {
  const { logitBias, ...rest } = params;
  const request = {
    id,
    prompt: tokens,
    params: logitBias ? { ...rest, logitBias: new Map(logitBias) } : rest,
    ...(priority === undefined ? {} : { priority }),
    ...(cacheSalt === undefined ? {} : { cacheSalt }),
  };
  const matcher = await firstValueFrom(openGrammar(rest.responseFormat));
  const grammar = matcher && replayedMatcher(matcher, () => late.has(id));
  const sequence = withGrammar(createSequence(request, [...tokens], context), grammar);
  const shared = parent === undefined ? undefined : sequences.get(parent);
  if (shared !== undefined) sequence.parent = shared;
  return sequence;
}
