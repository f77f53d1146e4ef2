import type { Tool, ToolCallForm, Vocabulary } from './grammar.ts';
import type { KvLayout } from './memory.ts';
import type { ChatMessage, SamplingParams, TokenId } from './request.ts';

/** Rotary embedding as in `rope_scaling` / `rope_parameters`. */
export type RopeConfig = { readonly theta: number } & (
  | { readonly type: 'default' }
  | { readonly type: 'linear'; readonly factor: number }
  | {
      readonly type: 'llama3';
      readonly factor: number;
      readonly lowFreqFactor: number;
      readonly highFreqFactor: number;
      readonly originalMaxPositions: number;
    }
  | {
      readonly type: 'yarn';
      readonly factor: number;
      readonly originalMaxPositions: number;
      readonly betaFast: number;
      readonly betaSlow: number;
      /** Scales cos and sin; from `attention_factor`, else 0.1 ln(factor) + 1. */
      readonly attentionFactor: number;
    }
);

/** `config.json`, checked and under our names. */
export interface ModelConfig {
  readonly architecture: 'LlamaForCausalLM';
  readonly layers: number;
  readonly hidden: number;
  readonly intermediate: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly vocab: number;
  readonly maxPositions: number;
  readonly normEps: number;
  readonly rope: RopeConfig;
  readonly attentionBias: boolean;
  readonly mlpBias: boolean;
  /** lm_head shares the embedding's weights. */
  readonly tiedEmbeddings: boolean;
  /** How the checkpoint stores its linear layers, where those are not floats. */
  readonly quantization?: QuantizationConfig;
}

/** `quantization_config`, checked and under our names. */
export interface QuantizationConfig {
  readonly method: 'gptq' | 'awq';
  readonly bits: 4 | 8;
  /** Inputs that share a scale; `channel`: all of an output's. */
  readonly groupSize: number | 'channel';
  /** What is missing in a stored zero point: 1 in GPTQ's first format. */
  readonly zeroOffset: 0 | 1;
}

/** I32 only in quantized checkpoints, where it holds packed codes. */
export type WeightDtype = 'F32' | 'F16' | 'BF16' | 'I32';

/** Where a tensor lies: the graph points ONNX Runtime straight at it. */
export interface WeightLocation {
  /** File name inside the model's folder. */
  readonly file: string;
  readonly dtype: WeightDtype;
  readonly shape: readonly number[];
  /** Bytes from the start of the file. */
  readonly offset: number;
  readonly length: number;
}

export interface Tokenizer {
  /** Special tokens (BOS) are added where the tokenizer does so, unless told not to. */
  encode(text: string, options?: { readonly addSpecialTokens?: boolean }): TokenId[];
  decode(ids: readonly TokenId[], options?: { readonly skipSpecialTokens?: boolean }): string;
  /** The token as the vocabulary writes it, turned into text; half a character becomes U+FFFD. */
  tokenText(id: TokenId): string;
  /** @throws RxllmError `RXLLM_CHAT_TEMPLATE_MISSING`, `RXLLM_CHAT_TEMPLATE_FAILED` */
  applyChatTemplate(
    messages: readonly ChatMessage[],
    options: { readonly addGenerationPrompt: boolean; readonly tools?: readonly Tool[] },
  ): string;
  /** As the chat template writes it. */
  readonly toolCallForm: ToolCallForm;
  vocabulary(): Vocabulary;
  decoder(): IncrementalDecoder;
  readonly vocabSize: number;
  /** Ids that end a reply, from `generation_config.json`, else `config.json`, else the tokenizer. */
  readonly eosIds: ReadonlySet<TokenId>;
}

/** Token ids in, text out that never ends inside a character. Special tokens give no text. */
export interface IncrementalDecoder {
  push(id: TokenId): string;
  /** What is still held back, once. */
  flush(): string;
}

/** A Hugging Face folder, read and checked; the weights themselves stay in their files. */
export interface Model {
  /** The folder's name, as clients see it. */
  readonly name: string;
  readonly directory: string;
  readonly config: ModelConfig;
  readonly tokenizer: Tokenizer;
  readonly weights: ReadonlyMap<string, WeightLocation>;
  /** What `generation_config.json` sets; used over HTTP for fields that are absent. */
  readonly generationDefaults: Partial<SamplingParams>;
}

/** Which graph is authored from which weights: primitive ops, fused, flash, int4 … It follows the layout of the KV pool. */
export type ModelSlot = (model: Model, layout: KvLayout) => GraphSource;
export interface GraphSource {
  readonly layout: KvLayout;
  /** The folder that external data in the graph is relative to. */
  readonly weightsDirectory: string;
  /**
   * The ONNX model as bytes. `in-place`: new keys and values are written into the pool by the graph, outputs bound to
   * the inputs' memory. `returned`: the pool is only read, and what is new comes back as outputs. A promise where that takes
   * long, so that the event loop goes on in between.
   */
  author(cacheWrites: 'in-place' | 'returned'): Uint8Array | Promise<Uint8Array>;
}
