import type { Tokenizer, TokenLogprob, TokenLogprobs } from '../../core/contracts/index.ts';

/** JSON has no -Infinity (it would become null); this is what other servers write for a probability of 0. */
const LOWEST = -9999;

/** The `logprobs` of a chat choice. */
export function toChatLogprobs(logprobs: readonly TokenLogprobs[], tokenizer: Tokenizer) {
  return {
    content: logprobs.map((entry) => ({
      ...chatEntry(entry, tokenizer),
      top_logprobs: entry.top.map((alternative) => chatEntry(alternative, tokenizer)),
    })),
    refusal: null,
  };
}

function chatEntry({ id, logprob }: TokenLogprob, tokenizer: Tokenizer) {
  const token = tokenizer.tokenText(id);
  // Half a character has no text of its own, so its bytes cannot be told from it.
  const bytes = token.includes('\uFFFD') ? null : [...Buffer.from(token)];
  return { token, logprob: finite(logprob), bytes };
}

/** The `logprobs` of a text completion's choice, whose earlier part has `offset` characters. */
export function toCompletionLogprobs(logprobs: readonly TokenLogprobs[], tokenizer: Tokenizer, offset: number) {
  const tokens = logprobs.map(({ id }) => tokenizer.tokenText(id));
  let at = offset;
  return {
    tokens,
    token_logprobs: logprobs.map(({ logprob }) => finite(logprob)),
    top_logprobs: logprobs.map(({ top }) =>
      Object.fromEntries(top.map(({ id, logprob }) => [tokenizer.tokenText(id), finite(logprob)])),
    ),
    text_offset: tokens.map((token) => {
      const start = at;
      at += token.length;
      return start;
    }),
  };
}

function finite(logprob: number): number {
  return Math.max(logprob, LOWEST);
}
