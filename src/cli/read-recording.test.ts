import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readRecording } from './read-recording.ts';
import { CliError } from './report-error.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rxllm-'));
});
afterAll(() => rm(folder, { recursive: true }));

const header = '{"type":"engine","engine":"kv-cache","model":"m","seed":1,"options":{}}';
const request = (fields: object) =>
  JSON.stringify({ type: 'arrive', request: { id: 'a', arrivedAt: 0, tokens: [1], params: {}, ...fields } });

it.each([
  ['nothing', '', 'is no recording: its first line names no engine.'],
  ['another file', 'root:x:0:0', 'line 1 of FILE is not JSON; is the recording whole?'],
  ['another JSON', '{"name":"rxllm"}', 'line 1 of FILE is no line of a recording'],
  ['null', 'null', 'line 1 of FILE is no line of a recording'],
  ['no header', request({}), 'is no recording: its first line names no engine.'],
  ['a header cut short', '{"type":"engine"}', 'line 1 of FILE is no "engine" line of a recording: '],
  [
    'weights of an unknown kind',
    header.replace('"options"', '"quantize":"int3","options"'),
    'line 1 of FILE is no "engine" line of a recording: quantize must',
  ],
  ['a cut line', `${header}\n\n${request({}).slice(0, -2)}`, 'line 3 of FILE is not JSON; is the recording whole?'],
  ['an unknown type', `${header}\n{"type":"constructor"}`, 'line 2 of FILE is no line of a recording'],
  [
    'no tokens',
    `${header}\n${request({ tokens: 'abc' })}`,
    'line 2 of FILE is no "arrive" line of a recording: request.tokens must be array.',
  ],
  [
    'no rows',
    `${header}\n{"type":"step","index":0,"now":1,"rows":[["a"]],"preempted":[],"events":[]}`,
    '"step" line of a recording: rows.0 must',
  ],
])('says in a line what is wrong with %s', async (_name, text, message) => {
  const file = join(folder, 'recording');
  await writeFile(file, text);
  expect(() => readRecording(file)).toThrow(CliError);
  expect(() => readRecording(file)).toThrow(message.replace('FILE', file));
});

it('reads what the engine writes, and says that there is no such file', async () => {
  const file = join(folder, 'whole');
  await writeFile(file, `\n${header}\n${request({ logitBias: [[1, 2]], priority: 1 })}\n`);
  expect(readRecording(file)).toHaveLength(2);
  expect(() => readRecording(folder)).toThrow(`cannot read ${folder} (EISDIR`);
});
