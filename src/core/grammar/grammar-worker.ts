import { workerData } from 'node:worker_threads';
import type { CompiledGrammar, GrammarMatcher } from '@mlc-ai/web-xgrammar';
import { compileGrammar } from './compile-grammar.ts';
import type { GrammarSource } from './grammar-source.ts';
import type { FromThread, ThreadData, ToThread } from './thread-messages.ts';
import { type CharacterState, WholeCharacters } from './whole-characters.ts';
import { loadXGrammar } from './xgrammar.ts';
import { xgrammarProblem } from './xgrammar-problem.ts';

/** The thread of one grammar: it compiles it, and then makes the masks of all texts that follow it. */
const { port, vocabulary }: ThreadData = workerData;

// XGrammar writes what is wrong to the console, and throws a number.
const said: string[] = [];
console.error = (line: unknown) => void said.push(String(line));
console.warn = console.error;
console.log = console.error;

const xgrammar = loadXGrammar();
const tokenizer = await xgrammar.TokenizerInfo.createTokenizerInfo(
  vocabulary.tokens.split('\0'),
  vocabulary.encoding,
  false,
  vocabulary.size,
  [...vocabulary.eosIds],
);
const compiler = await xgrammar.GrammarCompiler.createGrammarCompiler(tokenizer, false);
const characters = new WholeCharacters(vocabulary);
/** Of each text. */
const matchers = new Map<number, { readonly matcher: GrammarMatcher; state: CharacterState }>();
let grammar: CompiledGrammar | undefined;

const reply = (message: FromThread, transfer: ArrayBuffer[] = []) => port.postMessage(message, transfer);

const isBarren = (mask: Int32Array) => mask.every((word) => word === 0);

async function compile(source: GrammarSource): Promise<void> {
  try {
    grammar = await compileGrammar(xgrammar, compiler, source);
    characters.follow(source);
    const beginning = await xgrammar.GrammarMatcher.createGrammarMatcher(grammar);
    reply({ type: isBarren(await beginning.getNextTokenBitmask()) ? 'barren' : 'compiled' });
    beginning.dispose();
  } catch {
    reply({ type: 'refused', problem: xgrammarProblem(said, source.type) });
  }
}

async function sendMask(id: number): Promise<void> {
  const text = matchers.get(id);
  if (text === undefined) return;
  const hasEnded = text.matcher.isTerminated();
  const mask = hasEnded ? new Int32Array(Math.ceil(vocabulary.size / 32)) : await text.matcher.getNextTokenBitmask();
  characters.restrict(mask, text.state);
  if (!hasEnded && isBarren(mask)) reply({ type: 'stuck', matcher: id });
  else reply({ type: 'mask', matcher: id, mask }, [mask.buffer as ArrayBuffer]);
}

function accept(text: { readonly matcher: GrammarMatcher; state: CharacterState }, id: number): boolean {
  text.state = characters.next(text.state, id);
  return text.matcher.acceptToken(id);
}

async function handle(message: ToThread): Promise<void> {
  if (message.type === 'compile') return compile(message.source);
  const { matcher } = message;
  const text = matchers.get(matcher);
  try {
    if (message.type === 'open') {
      matchers.set(matcher, { matcher: await xgrammar.GrammarMatcher.createGrammarMatcher(grammar!), state: 'end' });
    }
    if (message.type === 'accept' && text !== undefined && !accept(text, message.id)) {
      return reply({ type: 'broken', matcher, problem: `token ${message.id} is not one that the grammar allows here` });
    }
    if (message.type === 'close') {
      text?.matcher.dispose();
      matchers.delete(matcher);
      return;
    }
    await sendMask(matcher);
  } catch {
    reply({ type: 'broken', matcher, problem: 'XGrammar failed' });
  }
}

// One after the other: a message must not overtake one that is still awaited.
let handled = Promise.resolve();
port.on('message', (message: ToThread) => {
  handled = handled.then(() => handle(message));
});
