import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { RxllmError } from '../errors.ts';

/** The only version whose behaviour (what is copied, where `run` executes, what works in place) has been checked. */
export const ORT_VERSION = '1.30.0';

const FILE_NAMES: Partial<Record<NodeJS.Platform, string>> = {
  linux: 'libonnxruntime.so.1',
  darwin: `libonnxruntime.${ORT_VERSION}.dylib`,
  win32: 'onnxruntime.dll',
};

/**
 * The path of the ONNX Runtime library inside the installed onnxruntime-node: the very file that its own binding loads.
 * @throws RxllmError `RXLLM_RUNTIME_UNAVAILABLE`
 */
export function ortLibraryPath(platform: NodeJS.Platform = process.platform, arch: string = process.arch): string {
  const fileName = FILE_NAMES[platform];
  const folder = join(packageFolder(), 'bin', 'napi-v6', platform, arch);
  if (fileName === undefined || !existsSync(join(folder, fileName))) {
    throw new RxllmError(
      'RXLLM_RUNTIME_UNAVAILABLE',
      `onnxruntime-node brings no ONNX Runtime library for ${platform}/${arch} (looked in ${folder}); use the stock runtime`,
    );
  }
  return join(folder, fileName);
}

function packageFolder(): string {
  // The package's main file is <folder>/dist/index.js.
  return dirname(dirname(createRequire(import.meta.url).resolve('onnxruntime-node')));
}
