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
  const option = error.param === undefined ? undefined : OPTIONS[error.param];
  write(`error: ${option === undefined ? error.message : error.message.replace(error.param!, option)}\n`);
  return error.status === 400 ? 2 : 1;
}
