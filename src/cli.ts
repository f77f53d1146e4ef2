#!/usr/bin/env node
import { createProgram } from './cli/program.ts';
import { reportError } from './cli/report-error.ts';

process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  // A reader that has read enough (`| head`) is no failure: a server goes on serving.
  if (code === 'EPIPE') return;
  process.stderr.write(`error: the output cannot be written (${message}).\n`);
  process.exitCode = 1;
});

try {
  await createProgram().parseAsync();
} catch (error) {
  process.exitCode = reportError(error, (text) => process.stderr.write(text));
}
