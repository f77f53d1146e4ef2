import type { ChatMessage, Engine, Tokenizer } from '../../core/contracts/index.ts';
import { RxllmError } from '../../core/errors.ts';

/**
 * Refuses, by its length alone, text that cannot fit into the context whatever its tokens are: to count the tokens of
 * a long text would hold up everyone else. A text that fits is never refused.
 * @throws RxllmError `RXLLM_CONTEXT_LENGTH_EXCEEDED`
 */
export function checkTextFits(param: string, text: string, engine: Engine): void {
  const { maxModelLen } = engine.options;
  if (text.length <= maxModelLen) return;
  const most = maxModelLen * longestToken(engine.model.tokenizer);
  if (text.length <= most || shortestForm(text) <= most) return;
  throw tooLong(param, `it has ${text.length} characters; ${maxModelLen} tokens hold at most ${most}`);
}

/** The same for messages: a template writes at least one token for each, and all of their text but for its ends. */
export function checkMessagesFit(messages: readonly ChatMessage[], engine: Engine): void {
  const { maxModelLen } = engine.options;
  if (messages.length > maxModelLen) {
    throw tooLong('messages', `there are ${messages.length}; the context has ${maxModelLen} tokens`);
  }
  checkTextFits('messages', messages.map(writtenText).join(''), engine);
}

/** Templates of models that reason leave out what an earlier reply thought. */
function writtenText({ role, content, toolCalls = [] }: ChatMessage): string {
  const text = content ?? '';
  const said = (role === 'assistant' ? text.split('</think>').at(-1)! : text).trim();
  return said + toolCalls.map((call) => call.name).join('');
}

/** A tokenizer may compose characters before it looks for tokens. */
function shortestForm(text: string): number {
  return Math.min(text.normalize('NFC').length, text.normalize('NFKC').length);
}

const longestTokens = new WeakMap<Tokenizer, number>();

/** In characters, as strings count them. */
function longestToken(tokenizer: Tokenizer): number {
  let longest = longestTokens.get(tokenizer);
  if (longest === undefined) {
    longest = 1;
    for (let id = 0; id < tokenizer.vocabSize; id++) longest = Math.max(longest, tokenizer.tokenText(id).length);
    longestTokens.set(tokenizer, longest);
  }
  return longest;
}

function tooLong(param: string, problem: string): RxllmError {
  const message = `${param}: ${problem}. Shorten it, or raise --max-model-len if the model allows.`;
  return new RxllmError('RXLLM_CONTEXT_LENGTH_EXCEEDED', message, { param });
}
