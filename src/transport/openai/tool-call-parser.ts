import type { Engine, FinishReason, GenerateRequest, ToolCall, ToolCallForm } from '../../core/contracts/index.ts';
import type { WireFinishReason } from './job.ts';
import { jsonEnd } from './json-end.ts';

export type CallPart =
  | { readonly type: 'call'; readonly index: number; readonly id: string; readonly name: string }
  /** JSON text, of the call that was opened last. */
  | { readonly type: 'arguments'; readonly index: number; readonly text: string };

export type TextPart = { readonly type: 'text'; readonly text: string } | CallPart;

export interface ToolCallParser {
  /** What a piece of text is, as soon as that can be told. */
  push(text: string): TextPart[];
  /** What was held back, once. */
  flush(): TextPart[];
  /** Whether there was a call, and the arguments of the last are whole. */
  readonly hasWholeCalls: boolean;
}

/** For a request that may call tools; for any other the text is text. */
export function callParser({ params }: GenerateRequest, { model, options }: Engine): ToolCallParser {
  if (params?.responseFormat?.type !== 'tool_calls') return PLAIN;
  return createToolCallParser(model.tokenizer.toolCallForm, () => `call_${options.newId().replaceAll('-', '')}`);
}

/**
 * `tool_calls` where the text ended by itself, or at a stop string, after a call. A stop string in the arguments of one
 * is told as `stop`, OpenAI's word for that: `tool_calls` would promise arguments that can be read.
 */
export function finishReason(reason: FinishReason, { hasWholeCalls }: ToolCallParser): WireFinishReason {
  return hasWholeCalls && reason === 'stop' ? 'tool_calls' : reason;
}

export function collectParts(parts: readonly TextPart[]): {
  readonly text: string;
  readonly calls: readonly ToolCall[];
} {
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const calls = parts.flatMap((part) => (part.type === 'call' ? [part] : []));
  return {
    text,
    calls: calls.map(({ id, name, index }) => {
      const pieces = parts.map((part) => (part.type === 'arguments' && part.index === index ? part.text : ''));
      return { id, name, arguments: pieces.join('') };
    }),
  };
}

const PLAIN: ToolCallParser = {
  push: (text) => (text === '' ? [] : [{ type: 'text', text }]),
  flush: () => [],
  hasWholeCalls: false,
};

/**
 * Finds the calls in text that comes in pieces. What its grammar has let through has the form of calls wherever the form
 * begins; what may still become that beginning is held back. White space behind a call belongs to nobody.
 */
export function createToolCallParser(form: ToolCallForm, newId: () => string): ToolCallParser {
  const { begin, middle, end } = form;
  let state: 'text' | 'name' | 'arguments' | 'end' = 'text';
  let held = '';
  let index = -1;
  let json = jsonEnd();
  /** Nothing but white space has come since the last call. */
  let justCalled = false;

  /** One move in `held`; undefined: more text is needed. */
  const step = (): TextPart[] | undefined => {
    switch (state) {
      case 'text': {
        if (justCalled) held = held.trimStart();
        const at = held.indexOf(begin);
        const safe = at === -1 ? held.length - partial(held, begin) : at;
        const text = held.slice(0, safe);
        held = held.slice(at === -1 ? safe : at + begin.length);
        if (at >= 0) state = 'name';
        if (text !== '') justCalled = false;
        if (at === -1 && text === '') return undefined;
        return text === '' ? [] : [{ type: 'text', text }];
      }
      case 'name': {
        const at = held.indexOf(middle);
        if (at === -1) return undefined;
        const name = held.slice(0, at);
        held = held.slice(at + middle.length);
        state = 'arguments';
        index += 1;
        json = jsonEnd();
        return [{ type: 'call', index, id: newId(), name }];
      }
      case 'arguments': {
        if (held === '') return undefined;
        const length = json(held);
        const text = held.slice(0, length);
        held = held.slice(text.length);
        if (length !== undefined) state = 'end';
        return text === '' ? [] : [{ type: 'arguments', index, text }];
      }
      case 'end': {
        if (held.length < end.length) return undefined;
        held = held.slice(end.length);
        state = 'text';
        justCalled = true;
        return [];
      }
    }
  };

  return {
    get hasWholeCalls() {
      return index >= 0 && state !== 'arguments';
    },
    push: (text) => {
      held += text;
      const parts: TextPart[] = [];
      for (let found = step(); found !== undefined; found = step()) parts.push(...found);
      return parts;
    },
    flush: () => {
      // A call whose name is not whole is none, and its text is not lost.
      const text = { text: held, name: begin + held, arguments: '', end: '' }[state];
      held = '';
      return text === '' ? [] : [{ type: 'text', text }];
    },
  };
}

/** How many characters at the end of `text` are the beginning of `wanted`. */
function partial(text: string, wanted: string): number {
  for (let length = Math.min(text.length, wanted.length - 1); length > 0; length--) {
    if (text.endsWith(wanted.slice(0, length))) return length;
  }
  return 0;
}
