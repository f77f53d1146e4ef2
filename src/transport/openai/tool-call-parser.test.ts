import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BARE_CALL, TAGGED_CALL } from '../../core/text/tool-call-form.ts';
import { collectParts, createToolCallParser, type TextPart } from './tool-call-parser.ts';

const written = ({ begin, middle, end }: typeof TAGGED_CALL, name: string, json: string) =>
  `${begin}${name}${middle}${json}${end}`;

function parse(pieces: readonly string[], form = TAGGED_CALL) {
  let count = 0;
  const parser = createToolCallParser(form, () => `call_${count++}`);
  const parts: TextPart[] = [];
  for (const piece of pieces) parts.push(...parser.push(piece));
  parts.push(...parser.flush());
  return { parts, hasWholeCalls: parser.hasWholeCalls, ...collectParts(parts) };
}

describe.each([
  ['tagged', TAGGED_CALL],
  ['bare', BARE_CALL],
])('%s calls', (_, form) => {
  const json = '{"a": "}\\n</tool_call> \\" {", "b": {"c": [{}]}}';
  const whole = `Well.\n${written(form, 'f', json)}\n${written(form, 'g', '{}')}`;

  it('are found however the text is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(whole.length), { maxLength: 12 }), (cuts) => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), whole.length];
        const found = parse(
          at.slice(1).map((end, i) => whole.slice(at[i], end)),
          form,
        );
        expect(found.text).toBe('Well.\n');
        expect(found.calls).toEqual([
          { id: 'call_0', name: 'f', arguments: json },
          { id: 'call_1', name: 'g', arguments: '{}' },
        ]);
      }),
    );
  });

  it('arguments come as soon as they do', () => {
    const { parts } = parse([form.begin, 'f', form.middle, '{"a"', ': 1', '}', form.end], form);
    expect(parts).toEqual([
      { type: 'call', index: 0, id: 'call_0', name: 'f' },
      { type: 'arguments', index: 0, text: '{"a"' },
      { type: 'arguments', index: 0, text: ': 1' },
      { type: 'arguments', index: 0, text: '}' },
    ]);
  });

  it('one that is cut keeps what there is of it', () => {
    expect(parse([written(form, 'f', '{"a": "b').slice(0, -form.end.length)], form)).toMatchObject({
      hasWholeCalls: false,
      text: '',
      calls: [{ name: 'f', arguments: '{"a": "b' }],
    });
  });
});

it.each([TAGGED_CALL, BARE_CALL])('arguments may be any JSON value', (form) => {
  for (const json of ['[1, {"a": [2]}]', '"}\\" {"', '12', 'null', '[]']) {
    const calls = [{ name: 'f', arguments: json }];
    expect(parse([`${written(form, 'f', json)} and on`], form)).toMatchObject({ calls, text: 'and on' });
    expect(parse([...written(form, 'f', json)], form)).toMatchObject({ calls, text: '' });
  }
});

it('a call that is cut before its name is whole is text', () => {
  expect(parse([`Well. ${TAGGED_CALL.begin}wea`])).toMatchObject({
    text: `Well. ${TAGGED_CALL.begin}wea`,
    calls: [],
    hasWholeCalls: false,
  });
});

it('text that never becomes a call is text', () => {
  expect(parse(['a < b ', '<tool', '_cal'])).toMatchObject({
    text: 'a < b <tool_cal',
    calls: [],
    hasWholeCalls: false,
  });
  expect(parse(['a ', '<tool', 'box>']).parts.map((part) => part.type === 'text' && part.text)).toEqual([
    'a ',
    '<toolbox>',
  ]);
});

it('text between calls keeps its spaces, but for those behind a call', () => {
  const call = written(TAGGED_CALL, 'f', '{}');
  expect(parse([call, '\n ', 'one', ' two ', call]).text).toBe('one two ');
});
