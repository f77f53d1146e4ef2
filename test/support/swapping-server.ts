import type { Model } from '../../src/core/contracts/index.ts';
import { createTurns } from '../../src/core/runtime/turns.ts';
import { createEngine, createEngineHost, findEngine } from '../../src/engines/index.ts';
import { buildServer, type ServerOptions } from '../../src/transport/index.ts';

/** A server like `rxllm serve`: engines by name over one model, swapped while it runs. */
export async function swappingServer(
  model: Model,
  first: string,
  names: readonly string[],
  options: ServerOptions = {},
) {
  const share = createTurns();
  const host = createEngineHost((name) => {
    const { recipe } = findEngine(name);
    return createEngine({ ...recipe, runtime: share(recipe.runtime) }, model);
  });
  await host.swap(first);
  const app = buildServer(host, { admin: { names, swap: (name) => host.swap(name) }, ...options });
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  return {
    address,
    engine: () => host.engine()!,
    close: async () => {
      await app.close();
      await host.close();
    },
  };
}
