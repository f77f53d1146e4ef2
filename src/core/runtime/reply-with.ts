import type { TokenId } from '../contracts/index.ts';
import type { NextToken } from './scripted-runner.ts';

/** Prompts whose replies may be under way at once; the one that was asked for longest ago is forgotten first. */
const PROMPTS_KEPT = 1024;

interface Exchange {
  readonly prompt: readonly TokenId[];
  readonly reply: readonly TokenId[];
}

export type Reply = readonly TokenId[] | ((prompt: readonly TokenId[]) => readonly TokenId[]);

/**
 * A script that answers each prompt with a reply, then with `end` for ever.
 *
 * A forward pass does not say where a prompt ends, but the first logits wanted of a sequence are those of its last
 * prompt token. So a history that goes on from a prompt seen before with the beginning of that prompt's reply is that
 * reply under way, also after a preemption or in another block; any other history is a new prompt. Hence a prompt
 * that equals an earlier one and the beginning of its reply gets the rest of that reply, and a token that the sampler
 * chose against the script begins a new prompt.
 */
export function replyWith(reply: Reply, end: TokenId): NextToken {
  const exchanges = new Set<Exchange>();
  const replyTo = typeof reply === 'function' ? reply : () => reply;
  return (history) => {
    let exchange: Exchange | undefined;
    for (const known of exchanges) {
      if (known.prompt.length > (exchange?.prompt.length ?? 0) && isUnderWay(known, history, end)) exchange = known;
    }
    // Moved to the end: the set's order is that of use.
    if (exchange) exchanges.delete(exchange);
    else {
      const prompt = [...history];
      exchange = { prompt, reply: [...replyTo(prompt)] };
    }
    exchanges.add(exchange);
    if (exchanges.size > PROMPTS_KEPT) exchanges.delete(exchanges.values().next().value!);
    return exchange.reply[history.length - exchange.prompt.length] ?? end;
  };
}

function isUnderWay({ prompt, reply }: Exchange, history: readonly TokenId[], end: TokenId): boolean {
  return (
    history.length >= prompt.length &&
    history.every((id, at) => id === (at < prompt.length ? prompt[at] : (reply[at - prompt.length] ?? end)))
  );
}
