#!/usr/bin/env node
import { createProgram } from './cli/program.ts';
import { reportError } from './cli/report-error.ts';

try {
  await createProgram().parseAsync();
} catch (error) {
  process.exitCode = reportError(error, (text) => process.stderr.write(text));
}
