import type { ModelRunner } from '../contracts/index.ts';
import { type NativeOptions, native } from './native-runner.ts';
import { type OrtCApi, ortCApi } from './ort-c-api.ts';
import type { ConfigRuntime } from './runtime.ts';
import { selfCheck } from './self-check.ts';
import { stock } from './stock-runner.ts';

export interface AutoOptions extends NativeOptions {
  /** Told why, when the stock runtime is used; by default a line on stderr. */
  readonly onFallback?: (reason: string) => void;
  /** Rejects when the native runtime must not be used. */
  readonly check?: (api: OrtCApi) => Promise<void>;
}

/** The native runtime where its library loads and passes the check, else the stock one, which says so. */
export function autoRuntime({ onFallback = warn, check = selfCheck, ...options }: AutoOptions = {}): ConfigRuntime {
  return async (graph, model, pool) => {
    const reason = await reasonAgainst(check);
    if (reason === undefined) return native(options)(graph, model, pool);
    onFallback(reason);
    const { spin: _, arena: __, ...stockOptions } = options;
    return described(await stock(stockOptions)(graph, model, pool), `fallback: ${reason}`);
  };
}

async function reasonAgainst(check: (api: OrtCApi) => Promise<void>): Promise<string | undefined> {
  try {
    await check(ortCApi());
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function described(runner: ModelRunner, note: string): ModelRunner {
  return {
    config: runner.config,
    description: `${runner.description} (${note})`,
    forward: (batch) => runner.forward(batch),
    copyBlocks: (copies) => runner.copyBlocks(copies),
    dispose: () => runner.dispose(),
  };
}

function warn(reason: string): void {
  process.stderr.write(`rxllm: using the slower stock runtime, for ${reason}\n`);
}
