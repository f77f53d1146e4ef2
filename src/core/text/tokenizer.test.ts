import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ChatMessage, TokenId } from '../contracts/index.ts';
import { loadTokenizer } from '../model/load-tokenizer.ts';

interface TokenizerCase {
  readonly text: string;
  readonly ids: readonly TokenId[];
  readonly decoded: string;
  readonly decoded_skip_special: string;
}
interface ChatCase {
  readonly messages: readonly ChatMessage[];
  readonly add_generation_prompt: boolean;
  readonly text: string;
  readonly ids: readonly TokenId[];
}

const golden = <T>(name: string) =>
  (JSON.parse(readFileSync(`models/goldens/${name}.json`, 'utf8')) as { cases: T[] }).cases;
const tokenizer = await loadTokenizer('models/storyteller-12m', [2, 0]);

describe('tokenizer', () => {
  const cases = golden<TokenizerCase>('tokenizer');

  it('gives the reference ids and texts', () => {
    expect(cases).toHaveLength(60);
    for (const { text, ids, decoded, decoded_skip_special } of cases) {
      expect(tokenizer.encode(text)).toEqual(ids);
      expect(tokenizer.decode(ids)).toBe(decoded);
      expect(tokenizer.decode(ids, { skipSpecialTokens: true })).toBe(decoded_skip_special);
    }
  });

  it('streams the reference texts', () => {
    for (const { ids, decoded_skip_special } of cases) {
      const decoder = tokenizer.decoder();
      const pieces = [...ids.map((id) => decoder.push(id)), decoder.flush()];
      expect(pieces.join('')).toBe(decoded_skip_special);
      expect(pieces.join('|')).not.toMatch(/\uFFFD|\p{Surrogate}/u);
    }
  });

  it('applies the chat template as the reference does, and encodes its text without a second BOS', () => {
    const chats = golden<ChatCase>('chat-template');
    expect(chats).toHaveLength(16);
    for (const { messages, add_generation_prompt: addGenerationPrompt, text, ids } of chats) {
      expect(tokenizer.applyChatTemplate(messages, { addGenerationPrompt })).toBe(text);
      expect(tokenizer.encode(text, { addSpecialTokens: false })).toEqual(ids);
    }
  });

  it('tells the text of single tokens', () => {
    expect(tokenizer.tokenText(262)).toBe(' a');
    expect(tokenizer.tokenText(1)).toBe('<|im_start|>');
    const [half] = tokenizer.encode('😀');
    expect(tokenizer.tokenText(half!)).toContain('\uFFFD');
  });

  it('gives no text for ids without a token', () => {
    expect(tokenizer.vocabSize).toBe(8192);
    expect(tokenizer.decode([9000, 68, 8192])).toBe('a');
    expect(tokenizer.decode([])).toBe('');
    expect(tokenizer.decoder().push(9000)).toBe('');
  });

  it('knows the ids that end a reply', async () => {
    expect([...tokenizer.eosIds]).toEqual([2, 0]);
    expect([...(await loadTokenizer('models/storyteller-12m', undefined)).eosIds]).toEqual([2]);
  });
});
