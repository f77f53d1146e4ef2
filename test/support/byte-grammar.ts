import { compileGrammar } from '../../src/core/grammar/compile-grammar.ts';
import type { GrammarSource } from '../../src/core/grammar/grammar-source.ts';
import type { PackedVocabulary } from '../../src/core/grammar/thread-messages.ts';
import { type CharacterState, WholeCharacters } from '../../src/core/grammar/whole-characters.ts';
import { loadXGrammar } from '../../src/core/grammar/xgrammar.ts';

const END = 256;
const tokens = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
/** A token for each byte, and one that ends a text. */
const vocabulary: PackedVocabulary = {
  tokens: [...tokens, '</s>'].join('\0'),
  encoding: 'byte_fallback',
  size: 257,
  eosIds: [END],
};

/** XGrammar over single bytes, with the masks of a grammar's thread: what it allows at all, a text may come to. */
export async function byteGrammars() {
  const xgrammar = loadXGrammar();
  const { encoding, size, eosIds } = vocabulary;
  const names = vocabulary.tokens.split('\0');
  const info = await xgrammar.TokenizerInfo.createTokenizerInfo(names, encoding, false, size, [...eosIds]);
  const compiler = await xgrammar.GrammarCompiler.createGrammarCompiler(info, false);

  /** Texts drawn at random, those that end within `longest` bytes; bytes beyond ASCII are as likely as all others. */
  async function texts(source: GrammarSource, count: number, random: () => number, longest = 120) {
    const characters = new WholeCharacters(vocabulary);
    characters.follow(source);
    const grammar = await compileGrammar(xgrammar, compiler, source);
    const found: string[] = [];
    for (let sample = 0; sample < count; sample++) {
      const matcher = await xgrammar.GrammarMatcher.createGrammarMatcher(grammar);
      const bytes: number[] = [];
      let state: CharacterState = 'end';
      while (bytes.length < longest) {
        const mask = await matcher.getNextTokenBitmask();
        characters.restrict(mask, state);
        const allowed = Array.from({ length: 257 }, (_, id) => id).filter((id) => (mask[id >> 5]! >>> (id & 31)) & 1);
        if (allowed.length === 0) throw new Error(`stuck behind ${bytes}`);
        if (allowed.at(-1) === END && (allowed.length === 1 || random() < 0.4)) {
          found.push(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes)));
          break;
        }
        const high = allowed.filter((id) => id > 127 && id < END);
        const low = allowed.filter((id) => id < 128);
        const some = low.length === 0 || (high.length > 0 && random() < 0.5) ? high : low;
        const id = some[Math.floor(random() * some.length)]!;
        matcher.acceptToken(id);
        state = characters.next(state, id);
        bytes.push(id);
      }
      matcher.dispose();
    }
    return found;
  }

  /** Every text of at most so many bytes, sorted. */
  async function allTexts(source: GrammarSource, longest: number): Promise<string[]> {
    const characters = new WholeCharacters(vocabulary);
    characters.follow(source);
    const grammar = await compileGrammar(xgrammar, compiler, source);
    const matcher = await xgrammar.GrammarMatcher.createGrammarMatcher(grammar);
    const found: string[] = [];
    const follow = async (bytes: readonly number[], state: CharacterState): Promise<void> => {
      const mask = await matcher.getNextTokenBitmask();
      characters.restrict(mask, state);
      const allows = (id: number) => (mask[id >> 5]! >>> (id & 31)) & 1;
      if (allows(END)) found.push(Buffer.from(bytes).toString());
      for (let id = 0; id < END && bytes.length < longest; id++) {
        if (!allows(id)) continue;
        matcher.acceptToken(id);
        await follow([...bytes, id], characters.next(state, id));
        matcher.rollBack(1);
      }
    };
    await follow([], 'end');
    matcher.dispose();
    grammar.dispose();
    return found.sort();
  }

  return { texts, allTexts };
}
