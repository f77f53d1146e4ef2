import { lastValueFrom } from 'rxjs';
import type { BenchClient, BenchRequest } from './client.ts';
import { record } from './record.ts';
import type { Run } from './stats.ts';

/**
 * One request over HTTP, timed at the client: from sending it to the end of its reply.
 * @throws Error when the server refuses it or fails
 */
export async function runOnline(client: BenchClient, request: BenchRequest): Promise<Run> {
  const { outcome, error, e2eMs, outputTokens, ttftMs, tpotMs } = await lastValueFrom(record(client, request));
  if (outcome !== 'completed') throw new Error(error ?? 'the request was aborted');
  return { wallMs: e2eMs, outputTokens, ttftMs, tpotMs };
}
