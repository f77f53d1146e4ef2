import { Observable, of } from 'rxjs';
import type { EngineContext, GrammarMatcher, Model, ResponseFormat, Tokenizer } from '../contracts/index.ts';
import { grammarKey } from './grammar-key.ts';
import { grammarSource } from './grammar-source.ts';
import { Grammars } from './grammars.ts';
import type { PackedVocabulary } from './thread-messages.ts';

interface Shared {
  readonly grammars: Grammars;
  users: number;
}

/** Engines over one tokenizer share its grammars, so that a hot swap keeps them. */
const shared = new WeakMap<Tokenizer, Shared>();

export type OpenGrammar = (format: ResponseFormat | undefined) => Observable<GrammarMatcher | undefined>;

/**
 * How an engine gets the matchers of its requests; undefined is emitted where any text will do, at once. Nothing starts
 * before the first grammar is asked for. With the last engine that uses them the grammars go.
 */
export function useGrammars({ model, owned }: EngineContext): OpenGrammar {
  const { tokenizer } = model;
  const used = shared.get(tokenizer) ?? { grammars: new Grammars(() => packVocabulary(model)), users: 0 };
  shared.set(tokenizer, used);
  used.users += 1;
  owned.push(
    Promise.resolve({
      dispose: async () => {
        used.users -= 1;
        if (used.users > 0) return;
        used.grammars.close();
        shared.delete(tokenizer);
      },
    }),
  );
  return (format) =>
    new Observable((subscriber) => {
      if (format === undefined || format.type === 'text') return of(undefined).subscribe(subscriber);
      const source = () => grammarSource(format, tokenizer.toolCallForm);
      return used.grammars.matcher({ key: grammarKey(format), source }).subscribe(subscriber);
    });
}

function packVocabulary({ tokenizer, config }: Model): PackedVocabulary {
  const { tokens, encoding } = tokenizer.vocabulary();
  return { tokens: tokens.join('\0'), encoding, size: config.vocab, eosIds: [...tokenizer.eosIds] };
}
