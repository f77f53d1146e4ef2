import type { Observable } from 'rxjs';
import type { TokenId } from './request.ts';

/** A JSON schema, as parsed JSON. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };

/**
 * What the text must look like; every token is masked that could not lead there. At its end only an end token may come,
 * so a text that ends with `stop` fits wholly, and one that `maxTokens` or a stop string cuts fits as far as it goes.
 * JSON is written on one line, as Python's `json.dumps` does it, and its objects in the order of `properties`.
 */
export type ResponseFormat =
  | { readonly type: 'text' }
  /** Any JSON object. */
  | { readonly type: 'json_object' }
  /**
   * JSON that fits the schema. Properties that it does not name come only where it says `additionalProperties`; `oneOf`
   * is taken as `anyOf`, and a bounded integer has at most 15 digits. A keyword that cannot be enforced is refused, or passed over where `strict` is false.
   */
  | { readonly type: 'json_schema'; readonly schema: JsonSchema; readonly strict?: boolean }
  /** The whole text matches. */
  | { readonly type: 'regex'; readonly pattern: string }
  /** One of these texts. */
  | { readonly type: 'choice'; readonly choices: readonly string[] }
  /** EBNF in GBNF's notation; the rule `root` is the text. */
  | { readonly type: 'grammar'; readonly grammar: string }
  | ToolCallFormat;

/** Calls of these tools, in the form that the model's chat template writes them. */
export interface ToolCallFormat {
  readonly type: 'tool_calls';
  readonly tools: readonly Tool[];
  /** false: free text, in which calls may stand. */
  readonly required: boolean;
  /** Whether more than one call may come. */
  readonly parallel: boolean;
}

export interface Tool {
  /** Letters, digits, `_`, `-` and `.`. */
  readonly name: string;
  readonly description?: string;
  /** Of the object of its arguments; absent: any object. */
  readonly parameters?: JsonSchema;
  /** A keyword of its parameters that cannot be enforced is refused; else, and that is the default, passed over. */
  readonly strict?: boolean;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

/** How a tool call stands in text: `begin`, the name, `middle`, the JSON of the arguments, `end`. */
export interface ToolCallForm {
  readonly begin: string;
  readonly middle: string;
  readonly end: string;
  /** What no other text begins with: the first characters of `begin`. */
  readonly trigger: string;
}

/** Which tokens may come next, `[ceil(vocab / 32)]`: token `id` is bit `id % 32` of word `id / 32`. */
export type TokenMask = Int32Array;

/** Where one text stands in its grammar. The masks are made elsewhere, so that each may still be on its way. */
export interface GrammarMatcher {
  readonly isReady: boolean;
  /** Emits once, as soon as `mask` knows; it never errors. */
  readonly ready$: Observable<void>;
  /**
   * What may follow the tokens accepted so far. Call it when ready.
   * @throws RxllmError `RXLLM_RUNTIME_FAILED`, and `RXLLM_GRAMMAR_INVALID` where nothing may
   */
  mask(): TokenMask;
  /** The text goes on with this token, one of the mask's. The next mask is begun. */
  accept(id: TokenId): void;
  /** Idempotent. */
  dispose(): void;
}

/** The tokens of a vocabulary, by id, as it writes them. */
export interface Vocabulary {
  /** Special tokens, and ids without a token, are empty: no text has them. */
  readonly tokens: readonly string[];
  /** How bytes are written: a printable character each (GPT-2), as `<0x0A>` where the vocabulary lacks a character, or not at all. */
  readonly encoding: 'byte_level' | 'byte_fallback' | 'raw';
}
