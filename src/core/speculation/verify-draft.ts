import type { Draft, TokenId } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import type { Sample, Sampler } from '../sampling/sampler.ts';
import { acceptOrReplace } from './rejection.ts';

export interface Verifying {
  readonly sampler: Sampler;
  readonly draft: Draft;
  /** `[1 + drafted, vocab]`: after the last token, and after each drafted one. */
  readonly logits: Float32Array;
  readonly tokens: readonly TokenId[];
  readonly promptLength: number;
  /** Whether this token ends the text, so that what was drafted behind it is not looked at. */
  readonly ends: (id: TokenId) => boolean;
}

/**
 * The drafted tokens that are accepted, and one more that the target chooses: in place of the first rejected one, or
 * behind the last.
 *
 * Where a request is greedy or has a seed, the sampler chooses as it does without drafts, and drafted tokens are accepted
 * as long as they are what it chose. So the output depends neither on what was drafted nor on how much of it there was
 * room for. Any other request follows the rejection rule, which accepts as many drafted tokens as possible.
 *
 * Where no token can be chosen, the result ends with those before it; it is empty where that is the first.
 */
export function verifyDraft({ sampler, draft, logits, tokens, promptLength, ends }: Verifying): Sample[] {
  const rows = draft.tokens.length + 1;
  const vocab = logits.length / rows;
  const samples: Sample[] = [];
  const text = [...tokens];
  for (let row = 0; row < rows; row++) {
    const drafted = draft.tokens[row];
    const rowLogits = logits.subarray(row * vocab, (row + 1) * vocab);
    const sample = unlessNoneCanBe(() =>
      drafted === undefined || sampler.isReproducible ? choose(rowLogits) : accept(row, drafted, rowLogits),
    );
    if (sample === undefined) break;
    samples.push(sample);
    text.push(sample.id);
    if (sample.id !== drafted || ends(sample.id)) break;
  }
  return samples;

  function choose(rowLogits: Float32Array): Sample {
    return sampler.sample(rowLogits, text, promptLength);
  }

  function accept(row: number, drafted: TokenId, rowLogits: Float32Array): Sample {
    const target = sampler.candidates(rowLogits, text, promptLength);
    const id = acceptOrReplace(target, drafted, draft.distributions?.[row], sampler.uniform);
    return sampler.describe(id, rowLogits);
  }
}

/** What `pick` returns, or undefined where no token has a probability. */
function unlessNoneCanBe(pick: () => Sample): Sample | undefined {
  try {
    return pick();
  } catch (error) {
    if (error instanceof RxllmError && error.code === 'RXLLM_RUNTIME_FAILED') return undefined;
    throw error;
  }
}
