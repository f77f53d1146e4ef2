import { filter, firstValueFrom, map } from 'rxjs';
import type { ChatMessage, Engine, GenerateRequest, GenerateResult } from 'rxllm';

export const resultOf = (engine: Engine, request: GenerateRequest): Promise<GenerateResult> =>
  firstValueFrom(
    engine.stream(request).pipe(
      filter((event) => event.type === 'finished'),
      map(({ result }) => result),
    ),
  );

export const QUESTIONS = [
  'Tell me a story about a fox who found a red kite in the meadow.',
  'What happened to the kite when the wind came? Tell me more.',
  'Who helped the fox in the end?',
  'And what did they all learn from it?',
];

export interface Turn {
  readonly promptTokens: number;
  readonly cached: number;
  readonly ttftMs: number;
  readonly reply: string;
}

/** A chat: each turn's prompt is all that was said before, and a question more. */
export async function chat(engine: Engine, questions: readonly string[], maxTokens: number): Promise<Turn[]> {
  const messages: ChatMessage[] = [];
  const turns: Turn[] = [];
  for (const content of questions) {
    messages.push({ role: 'user', content });
    const { text, metrics } = await resultOf(engine, { prompt: [...messages], params: { maxTokens } });
    messages.push({ role: 'assistant', content: text });
    const { inputTokens, cachedTokens = 0, ttftMs } = metrics;
    turns.push({ promptTokens: inputTokens, cached: cachedTokens, ttftMs, reply: text });
  }
  return turns;
}
