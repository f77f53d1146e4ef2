import { readFileSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import type * as XGrammar from '@mlc-ai/web-xgrammar';

/** The module that runs a file as CommonJS: Node has it, its types do not. */
interface CommonJsModule {
  exports: unknown;
  filename: string;
  _compile(source: string, path: string): void;
}

/**
 * XGrammar's WebAssembly build (Dong et al., 2024). It is a UMD bundle in a package that says `"type": "module"`, so an
 * import of it fails: its text is compiled as CommonJS here. Each call makes an instance of its own.
 */
export function loadXGrammar(): typeof XGrammar {
  const path = createRequire(import.meta.url).resolve('@mlc-ai/web-xgrammar');
  const module = new Module(path) as unknown as CommonJsModule;
  module.filename = path;
  module._compile(readFileSync(path, 'utf8'), path);
  return module.exports as typeof XGrammar;
}
