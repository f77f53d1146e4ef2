import { firstValueFrom } from 'rxjs';
import { afterAll } from 'vitest';
import type { GrammarMatcher, TokenId } from '../../src/core/contracts/index.ts';
import { grammarKey } from '../../src/core/grammar/grammar-key.ts';
import { type GrammarFormat, grammarSource } from '../../src/core/grammar/grammar-source.ts';
import { type GrammarLimits, Grammars, type WantedGrammar } from '../../src/core/grammar/grammars.ts';
import type { PackedVocabulary } from '../../src/core/grammar/thread-messages.ts';
import { embeddedModel } from './real-server.ts';

const { tokenizer, config } = await embeddedModel();
const { tokens, encoding } = tokenizer.vocabulary();
const eosIds = [...tokenizer.eosIds];
const vocabulary: PackedVocabulary = { tokens: tokens.join('\0'), encoding, size: config.vocab, eosIds };

/** Makes grammars over the embedded model's vocabulary, which close behind the tests of the file that asks. */
export function openingGrammars(): (limits?: Partial<GrammarLimits>) => Grammars {
  const all: Grammars[] = [];
  afterAll(() => {
    for (const grammars of all) grammars.close();
  });
  return (limits = {}) => {
    const grammars = new Grammars(() => vocabulary, limits);
    all.push(grammars);
    return grammars;
  };
}

export const wanted = (format: GrammarFormat): WantedGrammar => ({
  key: grammarKey(format),
  source: () => grammarSource(format, tokenizer.toolCallForm),
});

export const matcherOf = (grammars: Grammars, format: GrammarFormat): Promise<GrammarMatcher> =>
  firstValueFrom(grammars.matcher(wanted(format)));

/** The tokens that may come next. */
export async function allowed(matcher: GrammarMatcher): Promise<TokenId[]> {
  await firstValueFrom(matcher.ready$);
  const mask = matcher.mask();
  return Array.from({ length: config.vocab }, (_, id) => id).filter((id) => (mask[id >> 5]! >>> (id & 31)) & 1);
}
