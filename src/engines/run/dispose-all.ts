import type { EngineContext } from '../../core/contracts/index.ts';

/** Frees the runner, and what slots have started for themselves, but for what did not start. */
export async function disposeAll({ runner, owned }: Pick<EngineContext, 'runner' | 'owned'>): Promise<void> {
  const started = await Promise.allSettled(owned);
  const disposing = started.map((one) => (one.status === 'fulfilled' ? one.value.dispose() : undefined));
  await Promise.all([runner.dispose(), ...disposing]);
}
