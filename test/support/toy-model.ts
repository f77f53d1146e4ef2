import type { Model, ModelConfig, Tokenizer } from '../../src/core/contracts/index.ts';
import { RxllmError } from '../../src/core/errors.ts';
import { TAGGED_CALL } from '../../src/core/text/tool-call-form.ts';

/** Ids 3 to 28 are the letters a to z; 0 ends a reply, 1 and 2 give no text. */
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const FIRST = 3;

export const letters = (text: string): number[] => [...text].map((letter) => LETTERS.indexOf(letter) + FIRST);
const word = (id: number) => LETTERS[id - FIRST] ?? '';

const tokenizer: Tokenizer = {
  encode: letters,
  decode: (ids) => ids.map(word).join(''),
  tokenText: word,
  toolCallForm: TAGGED_CALL,
  vocabulary: () => ({ tokens: [], encoding: 'raw' }),
  applyChatTemplate: (messages) => {
    if (messages.some(({ role }) => role === 'tool')) throw new RxllmError('RXLLM_CHAT_TEMPLATE_FAILED', 'no tools');
    return messages.map(({ content }) => content).join('');
  },
  decoder: () => ({ push: word, flush: () => '' }),
  vocabSize: 32,
  eosIds: new Set([0]),
};

export const toyConfig: ModelConfig = {
  architecture: 'LlamaForCausalLM',
  layers: 1,
  hidden: 8,
  intermediate: 8,
  heads: 2,
  kvHeads: 1,
  headDim: 4,
  vocab: 32,
  maxPositions: 64,
  normEps: 1e-5,
  rope: { type: 'default', theta: 10_000 },
  attentionBias: false,
  mlpBias: false,
  tiedEmbeddings: true,
};

/** A model without weights, for a scripted runner. */
export const toyModel: Model = {
  name: 'toy',
  directory: 'toy',
  config: toyConfig,
  tokenizer,
  weights: new Map(),
  generationDefaults: {},
};
