import { RxllmError } from '../errors.ts';

export function fileMissing(directory: string, file: string, detail = ''): RxllmError {
  const message = `${file} is missing from the model folder ${directory}${detail}.`;
  const advice = "Check the path, or copy the file from the model's source.";
  return new RxllmError('RXLLM_MODEL_FILE_MISSING', `${message} ${advice}`);
}

export function unsupported(file: string, found: string, supported: string): RxllmError {
  return new RxllmError('RXLLM_MODEL_UNSUPPORTED', `${file}: ${found} is not supported; supported: ${supported}.`);
}

/** Whether a file operation failed because nothing is there. */
export function isMissing(cause: unknown): boolean {
  const code = (cause as NodeJS.ErrnoException).code;
  return code === 'ENOENT' || code === 'ENOTDIR';
}
