import { readFileSync } from 'node:fs';
import Type, { type TSchema } from 'typebox';
import Value from 'typebox/value';
import type { RecordLine } from '../core/recording/lines.ts';
import { QUANTIZATIONS } from '../engines/index.ts';
import { STEP_STAGES } from '../engines/run/check-steps.ts';
import type { ModelOptions } from './model-options.ts';
import { CliError } from './report-error.ts';

const text = Type.String();
const texts = Type.Array(text);
const time = Type.Number();
const whole = Type.Integer({ minimum: 0 });
const option = Type.Optional(Type.Number());

/** What a replay relies on; the parameters of a request are checked by the engine. */
const SHAPES: Readonly<Record<RecordLine['type'], TSchema>> = {
  engine: Type.Object({
    engine: text,
    model: text,
    seed: whole,
    quantize: Type.Optional(Type.Enum(Object.keys(QUANTIZATIONS))),
    draftModel: Type.Optional(text),
    options: Type.Object({
      maxQueue: option,
      maxModelLen: option,
      kvCacheMemoryMiB: option,
      blockSize: option,
      maxNumSeqs: option,
      maxNumBatchedTokens: option,
      maxPauseMs: option,
    }),
  }),
  arrive: Type.Object({
    request: Type.Object({
      id: text,
      arrivedAt: time,
      tokens: Type.Array(whole, { minItems: 1 }),
      params: Type.Object({ logitBias: Type.Optional(Type.Array(Type.Tuple([whole, Type.Number()]))) }),
      priority: option,
      cacheSalt: Type.Optional(text),
      parent: Type.Optional(text),
    }),
  }),
  cancel: Type.Object({ id: text, during: Type.Boolean() }),
  abort: Type.Object({ id: text, during: Type.Boolean() }),
  pause: Type.Object({ id: text, at: time }),
  resume: Type.Object({ id: text }),
  mask: Type.Object({ id: text }),
  step: Type.Object({
    index: whole,
    now: time,
    failed: Type.Optional(Type.Enum([...STEP_STAGES])),
    rows: Type.Array(Type.Tuple([text, text, whole])),
    preempted: texts,
    late: Type.Optional(texts),
    events: Type.Array(Type.Tuple([text, Type.Array(Type.Object({ type: text }))])),
  }),
};

/** The first line: which engine, and what changed it. */
export type RecordingHeader = Extract<RecordLine, { type: 'engine' }> & ModelOptions;

/** The lines of a recording, the first of which names the engine. @throws CliError naming the line that is none */
export function readRecording(file: string): readonly [RecordingHeader, ...RecordLine[]] {
  const numbered = readText(file)
    .split('\n')
    .map((line, at) => ({ line, where: `line ${at + 1} of ${file}` }))
    .filter(({ line }) => line !== '');
  const [first, ...rest] = numbered.map(({ line, where }) => toRecordLine(line, where));
  if (first?.type !== 'engine') throw new CliError(`${file} is no recording: its first line names no engine.`);
  return [first as RecordingHeader, ...rest];
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CliError(`cannot read ${file} (${(error as Error).message}).`);
  }
}

function toRecordLine(line: string, where: string): RecordLine {
  const value = parse(line, where);
  const type = (value as { readonly type?: unknown } | null)?.type;
  if (typeof type !== 'string' || !Object.hasOwn(SHAPES, type)) {
    throw new CliError(`${where} is no line of a recording; was it written by \`serve --record\`?`);
  }
  const shape = SHAPES[type as RecordLine['type']];
  if (Value.Check(shape, value)) return value as RecordLine;
  const [error] = Value.Errors(shape, value);
  const problem =
    `${error?.instancePath.slice(1).replaceAll('/', '.') ?? ''} ${error?.message ?? 'is not valid'}`.trim();
  throw new CliError(`${where} is no "${type}" line of a recording: ${problem}.`);
}

function parse(line: string, where: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new CliError(`${where} is not JSON; is the recording whole?`);
  }
}
