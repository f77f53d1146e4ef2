import { type Logger, pino } from 'pino';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** A JSON line an event, or, in a terminal, a line for people. */
export function createLogger(level: LogLevel, output: Output = process.stderr): Logger {
  const options = { level, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: nameOnly } };
  return pino(options, { write: (line) => void output.write(output.isTTY ? forPeople(line) : line) });
}

const nameOnly = (level: string) => ({ level });

interface Line {
  readonly level: string;
  readonly time: string;
  readonly msg?: string;
  readonly reqId?: string;
  readonly err?: { readonly stack?: string };
}

/** The time, the message (which is whole without the fields), and the stack of an error. */
function forPeople(json: string): string {
  const { level, time, msg = '', reqId, err } = JSON.parse(json) as Line;
  const words = [new Date(time).toTimeString().slice(0, 8), ...(level === 'info' ? [] : [`${level}:`]), msg];
  if (err !== undefined && reqId !== undefined) words.push(`(request ${reqId})`);
  return `${words.join(' ')}\n${err?.stack === undefined ? '' : `${err.stack}\n`}`;
}
