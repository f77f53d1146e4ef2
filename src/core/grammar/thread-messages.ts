import type { MessagePort } from 'node:worker_threads';
import type { TokenId, TokenMask, Vocabulary } from '../contracts/index.ts';
import type { GrammarSource } from './grammar-source.ts';

/** What a grammar's thread starts with. */
export interface ThreadData {
  readonly port: MessagePort;
  readonly vocabulary: PackedVocabulary;
}

/** A vocabulary as one string, which is copied to a thread at once. */
export interface PackedVocabulary {
  /** The tokens, a NUL character between them. */
  readonly tokens: string;
  readonly encoding: Vocabulary['encoding'];
  /** Logits a token has, padding included. */
  readonly size: number;
  readonly eosIds: readonly TokenId[];
}

export type ToThread =
  | { readonly type: 'compile'; readonly source: GrammarSource }
  | { readonly type: 'open' | 'close'; readonly matcher: number }
  | { readonly type: 'accept'; readonly matcher: number; readonly id: TokenId };

export type FromThread =
  | { readonly type: 'compiled' }
  /** No token can come first. */
  | { readonly type: 'barren' }
  /** In XGrammar's words. */
  | { readonly type: 'refused'; readonly problem: string }
  /** No token can come next, and the text has not ended: in the place of a mask. */
  | { readonly type: 'stuck'; readonly matcher: number }
  /** Answers each `open` and `accept`, in their order. */
  | { readonly type: 'mask'; readonly matcher: number; readonly mask: TokenMask }
  | { readonly type: 'broken'; readonly matcher: number; readonly problem: string };
