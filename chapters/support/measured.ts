import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environment } from 'rxllm/bench';
import { args } from './args.ts';
import { putMeasured } from './put-measured.ts';

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

function provenance(script: string): string {
  const path = relative(fileURLToPath(new URL('../..', import.meta.url)), fileURLToPath(script));
  const { machine, versions, date } = environment();
  const hardware = `${machine.cores} × ${machine.cpu.trim()}, ${machine.memoryGiB} GiB`;
  return `\`npx tsx ${path}\`, ${date.slice(0, 10)}; ${hardware}; Node ${versions.node}, onnxruntime-node ${versions.onnxruntime}.`;
}
