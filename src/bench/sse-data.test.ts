import { expect, it } from 'vitest';
import { sseData } from './sse-data.ts';

const stream = ': a comment\n\ndata: {"a":"ü: data"}\n\nevent: x\r\ndata:[DONE]\r\n\r\n';

it.each([1, 2, 3, 7, 1000])('finds the data in chunks of %d characters', (size) => {
  const read = sseData();
  const seen: string[] = [];
  for (let at = 0; at < stream.length; at += size) seen.push(...read(stream.slice(at, at + size)));
  expect(seen).toEqual(['{"a":"ü: data"}', '[DONE]']);
});
