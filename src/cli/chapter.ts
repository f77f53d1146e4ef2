import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Command, CommanderError } from 'commander';
import { integer } from './options.ts';
import { CliError } from './report-error.ts';

const CHAPTERS = new URL('../../chapters/', import.meta.url);

/** `rxllm chapter N [STEP]`: runs a chapter's numbered files one after the other, or those of some steps. */
export function addChapter(program: Command): void {
  program
    .command('chapter')
    .description(
      "run a chapter's files, or those of some steps, from a checkout; --quick (smaller sizes), --prompt and --model go to the files",
    )
    .argument('<number>', 'the chapter', integer(1))
    .argument('[step...]', 'the beginning of a file name: 0, 06, 06-benchmark-online')
    .allowUnknownOption()
    .action(async (chapter: number, rest: readonly string[]) => {
      const first = rest.findIndex((word) => word.startsWith('-'));
      const steps = first < 0 ? rest : rest.slice(0, first);
      const options = rest.slice(steps.length);
      for (const path of (steps.length > 0 ? steps : ['']).flatMap((step) => chapterFiles(chapter, step))) {
        process.stdout.write(`── chapters/${path}\n`);
        const file = fileURLToPath(new URL(path, CHAPTERS));
        const child = spawn(process.execPath, ['--import', 'tsx', file, ...options], { stdio: 'inherit' });
        const [code] = await once(child, 'exit');
        // The file has said what is wrong with its options.
        if (code === 2) throw new CommanderError(2, 'rxllm.chapterOption', `chapters/${path} refuses its options`);
        if (code !== 0) throw new CliError(`chapters/${path} ended with code ${code}.`);
      }
    });
}

/** @throws CliError where there is none: the package has no chapters, a checkout has those that are written */
function chapterFiles(chapter: number, step: string): string[] {
  const folders = existsSync(CHAPTERS) ? readdirSync(CHAPTERS) : [];
  const folder = folders.find((name) => name.startsWith(`ch${String(chapter).padStart(2, '0')}-`));
  if (folder === undefined) {
    const there = folders.flatMap((name) => /^ch(\d\d)-/.exec(name)?.[1] ?? []).map(Number);
    const hint =
      there.length === 0 ? 'chapters run from a checkout' : `there is ${there.sort((a, b) => a - b).join(', ')}`;
    throw new CliError(`there is no chapter ${chapter} here; ${hint}.`);
  }
  const numbered = readdirSync(new URL(folder, CHAPTERS)).filter((name) => /^\d\d-.+\.ts$/.test(name));
  const beginning = /^\d$/.test(step) ? `0${step}` : step;
  const files = numbered.filter((name) => name.startsWith(beginning)).sort();
  if (files.length === 0)
    throw new CliError(`chapter ${chapter} has no step "${step}"; it has ${numbered.join(', ')}.`);
  return files.map((name) => `${folder}/${name}`);
}
