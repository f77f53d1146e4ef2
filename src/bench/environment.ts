import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, totalmem } from 'node:os';

/** What a figure must be read with. */
export interface Environment {
  readonly machine: { readonly cpu: string; readonly cores: number; readonly memoryGiB: number };
  readonly versions: { readonly node: string; readonly rxllm: string; readonly onnxruntime: string };
  /** ISO 8601. */
  readonly date: string;
  /** As it was typed, without the program's path. */
  readonly command: string;
}

export function environment(now = new Date(), argv: readonly string[] = process.argv.slice(2)): Environment {
  const { resolve } = createRequire(import.meta.url);
  const version = (path: string | URL) => (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
  return {
    machine: {
      cpu: cpus()[0]?.model ?? 'unknown',
      cores: cpus().length,
      memoryGiB: Math.round(totalmem() / 2 ** 30),
    },
    versions: {
      node: process.versions.node,
      // The path is the same from `src/bench` and from `dist/bench`.
      rxllm: version(new URL('../../package.json', import.meta.url)),
      onnxruntime: version(resolve('onnxruntime-node/package.json')),
    },
    date: now.toISOString(),
    command: ['rxllm', ...argv.map((word) => (/^[\w.,:/=-]+$/.test(word) ? word : JSON.stringify(word)))].join(' '),
  };
}
