import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { addBench } from './bench.ts';
import { addChapter } from './chapter.ts';
import { addEngines } from './engines.ts';
import { addExport } from './export.ts';
import { addGenerate } from './generate.ts';
import { addPerplexity } from './perplexity.ts';
import { addProfile } from './profile.ts';
import { addQuantize } from './quantize.ts';
import { addReplay } from './replay.ts';
import { addServe } from './serve.ts';

/** The command line. Errors are thrown, not exited with: `reportError` turns them into an exit code. */
export function createProgram(): Command {
  const program = new Command('rxllm').description('An LLM inference engine whose every part is an RxJS operator.');
  program.version(packageVersion()).exitOverride();
  addGenerate(program);
  addServe(program);
  addReplay(program);
  addBench(program);
  addEngines(program);
  addPerplexity(program);
  addProfile(program);
  addQuantize(program);
  addExport(program);
  addChapter(program);
  return program;
}

function packageVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
