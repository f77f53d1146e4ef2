import { readFileSync } from 'node:fs';
import type { Prompt, Tokenizer } from '../../src/core/contracts/index.ts';

export interface PromptKind {
  readonly kind: string;
  readonly prompts: readonly Prompt[];
  /** It goes round and round, and would end soon. */
  readonly ignoreEos?: boolean;
}

const CHATS = [
  'Tell me a story about a fox.',
  'Tell me a story about a brave cat.',
  'Can you tell me a short story about a girl who loses her hat?',
  'What is the capital of Italy?',
  'What is 17 plus 25?',
  'Write a short poem about the sea.',
  'Tell me a joke.',
  'Tell me a story about a little bear and a kite.',
  'List three animals that live in the forest.',
  'I am sad today. Can you cheer me up?',
  'Tell me about the days of the week.',
  'Tell me a story about two friends in a village.',
];

const PROSE = [
  'The rain had been falling since the early morning, and the road to the village was',
  'It was not until the second winter of the war that my uncle began to speak of',
  'There are few men who, having once heard the sound of the breakers on that coast,',
  'She put down the letter and looked for a long while at the fire, thinking that',
  'The judge, who was a careful man, asked the witness once more whether',
  'Of all the houses in our street the oldest belonged to a widow, whose',
];

const SAILORS = 'The ship left the harbour at dawn with nine sailors, four barrels of apples and a grey goat. ';
const WEEK = 'Monday: bread and milk.\nTuesday: bread and milk.\nWednesday: bread and milk.\n';

/** Four kinds of text, on which drafts do well or badly. `stories` is a text of program-made stories. */
export function speculationPrompts(stories: string, { encode }: Pick<Tokenizer, 'encode'>): readonly PromptKind[] {
  const ids = encode(stories);
  return [
    { kind: 'chat', prompts: CHATS.map((content) => [{ role: 'user', content }]) },
    { kind: 'prose', prompts: PROSE },
    { kind: 'long context', prompts: [0, 1, 2, 3].map((i) => ids.slice(i * 3000, i * 3000 + 700 + 100 * i)) },
    { kind: 'repeating', prompts: [SAILORS.repeat(6), WEEK], ignoreEos: true },
  ];
}

export const readStories = (): string =>
  readFileSync(new URL('../../models/eval/stories-eval.txt', import.meta.url), 'utf8');
