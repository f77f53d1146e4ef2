import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { RxllmError } from '../errors.ts';

/** Stands in a folder that `rxllm quantize` writes until all of it is there. */
export const UNFINISHED = 'quantize-unfinished.json';

export const isUnfinished = (directory: string): boolean => existsSync(join(directory, UNFINISHED));

/** @throws RxllmError `RXLLM_MODEL_FILE_MISSING` where quantizing has not come to its end */
export function checkFinished(directory: string): void {
  if (!isUnfinished(directory)) return;
  const problem = `${directory} is an unfinished run of \`rxllm quantize\`, and no model yet`;
  const advice = `Run it again with the same options (${UNFINISHED} lists them): it goes on where it was interrupted.`;
  throw new RxllmError('RXLLM_MODEL_FILE_MISSING', `${problem}. ${advice}`);
}
