import type { TokenId } from '../../src/core/contracts/index.ts';

/** A reply or a chunk: only what tests look at. */
export interface Reply {
  readonly object: string;
  readonly choices: readonly {
    readonly index: number;
    readonly text?: string;
    readonly message?: { readonly role: string; readonly content: string };
    readonly delta?: { readonly role?: string; readonly content?: string };
    readonly logprobs: unknown;
    readonly finish_reason: string | null;
  }[];
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly total_tokens: number;
  };
  readonly tokens: readonly TokenId[];
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly code: string;
    readonly param: string | null;
  };
}

/** The data of the events in a whole event stream. */
export function eventData(text: string): string[] {
  return text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => event.replace(/^data: /, ''));
}

/** The chunks of a stream, parsed. */
export const chunksOf = (events: readonly string[]): Reply[] =>
  events.filter((event) => event !== '[DONE]').map((event) => JSON.parse(event));
