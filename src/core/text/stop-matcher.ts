import { RxllmError } from '../errors.ts';

export interface StopMatcher {
  /** The text that is now safe to show; `matched` from the first stop string on, after which no text comes. */
  push(text: string): { readonly text: string; readonly matched: boolean };
  /** What is still held back, once. */
  flush(): string;
}

/**
 * Cuts a stream of text at the first stop string, which is dropped with all that follows. Text is held back only while
 * it may still become a stop string. The stop string that is complete first wins, so that a decision never waits for
 * more text; of several that end at one character, the longest. A Knuth-Morris-Pratt automaton for each stop string:
 * a push costs its own length times the number of stop strings.
 * @throws RxllmError `RXLLM_INVALID_REQUEST` for an empty stop string.
 */
export function createStopMatcher(stops: readonly string[]): StopMatcher {
  if (stops.includes('')) {
    throw new RxllmError('RXLLM_INVALID_REQUEST', 'stop must not hold an empty string: leave it out.', {
      param: 'stop',
    });
  }
  const automata = stops.map((stop) => ({ stop, fallback: fallbackTable(stop), state: 0 }));
  let held = '';
  let matched = false;
  return {
    push(text) {
      if (matched) return { text: '', matched };
      let longestPartial = held.length;
      for (let index = 0; index < text.length; index++) {
        longestPartial = 0;
        let longestMatch = 0;
        for (const automaton of automata) {
          automaton.state = advance(automaton.stop, automaton.fallback, automaton.state, text[index]!);
          longestPartial = Math.max(longestPartial, automaton.state);
          if (automaton.state === automaton.stop.length) longestMatch = Math.max(longestMatch, automaton.state);
        }
        if (longestMatch > 0) {
          const before = held + text.slice(0, index + 1);
          held = '';
          matched = true;
          return { text: before.slice(0, before.length - longestMatch), matched };
        }
      }
      const all = held + text;
      const safe = all.length - longestPartial;
      held = all.slice(safe);
      return { text: all.slice(0, safe), matched };
    },
    flush() {
      const rest = held;
      held = '';
      for (const automaton of automata) automaton.state = 0;
      return rest;
    },
  };
}

/** How many characters of `stop` the text ends with, one character later. */
function advance(stop: string, fallback: readonly number[], state: number, character: string): number {
  let next = state;
  while (next > 0 && stop[next] !== character) next = fallback[next - 1]!;
  return stop[next] === character ? next + 1 : 0;
}

/** For each prefix of `stop`, the length of the longest shorter prefix that it ends with. */
function fallbackTable(stop: string): number[] {
  const table = [0];
  for (let index = 1; index < stop.length; index++) {
    table.push(advance(stop, table, table[index - 1]!, stop[index]!));
  }
  return table;
}
