import { readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environment } from 'rxllm/bench';
import { args } from './args.ts';

const START = '<!-- measured:start -->';
const END = '<!-- measured:end -->';

/**
 * Prints what was measured and, but in quick mode, puts it between the markers of the README beside the script (its
 * `import.meta.url`), with the command, the machine and the versions.
 */
export function writeMeasured(script: string, markdown: string): void {
  const body = `${markdown}\n\n${provenance(script)}`;
  console.log(`\n${body}`);
  if (args.quick) return;
  putMeasured(new URL('README.md', script), body);
}

/** Puts `body` between the markers of a Markdown file. @throws Error where it has none */
export function putMeasured(file: URL, body: string): void {
  const text = readFileSync(file, 'utf8');
  const [from, to] = [text.indexOf(START), text.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`${fileURLToPath(file)} has no ${START} … ${END} to write between`);
  writeFileSync(file, `${text.slice(0, from)}${START}\n\n${body}\n\n${text.slice(to)}`);
}

function provenance(script: string): string {
  const path = relative(fileURLToPath(new URL('../..', import.meta.url)), fileURLToPath(script));
  const { machine, versions, date } = environment();
  const hardware = `${machine.cores} × ${machine.cpu.trim()}, ${machine.memoryGiB} GiB`;
  return `\`npx tsx ${path}\`, ${date.slice(0, 10)}; ${hardware}; Node ${versions.node}, onnxruntime-node ${versions.onnxruntime}.`;
}
