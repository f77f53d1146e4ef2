import { CommanderError } from 'commander';
import { RxllmError } from '../core/errors.ts';

/** The options behind the fields that an engine's own errors name. */
const OPTIONS: Readonly<Record<string, string>> = {
  maxModelLen: '--max-model-len',
  kvCacheMemoryMiB: '--kv-cache-memory',
  blockSize: '--block-size',
  maxQueue: '--max-queue',
  maxNumSeqs: '--max-num-seqs',
  maxNumBatchedTokens: '--max-num-batched-tokens',
  prompt: '--prompt',
  damping: '--damping',
  calibration: '--calibration',
  actOrder: '--act-order',
  out: '--out',
  engine: '--engine',
  draftModel: '--draft-model',
  quantize: '--quantize',
};

/** Something that went wrong outside the program, told in one line. */
export class CliError extends Error {
  override readonly name = 'CliError';
}

/** The message, with options for fields: for the error's own, and for others that a capital tells from a word. */
function inOptions({ message, param }: RxllmError): string {
  const option = param === undefined ? undefined : OPTIONS[param];
  if (param === undefined || option === undefined) return message;
  const others = Object.entries(OPTIONS).filter(([field]) => /[A-Z]/.test(field));
  return others.reduce((text, [field, name]) => text.replaceAll(field, name), message.replace(param, option));
}

/**
 * Tells the user what went wrong, and gives the exit code: 2 where the command line is at fault, else 1.
 * @throws the error itself where it is none of ours: a bug keeps its stack
 */
export function reportError(error: unknown, write: (text: string) => void): number {
  // Commander has written its message already; help and version come with code 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof CliError) {
    write(`error: ${error.message}\n`);
    return 1;
  }
  if (!(error instanceof RxllmError)) throw error;
  write(`error: ${inOptions(error)}\n`);
  return error.status === 400 ? 2 : 1;
}
