/**
 * Clients in a process of their own, so that they do not share the server's event loop:
 * `node --import tsx soak-clients.ts URL SECONDS STREAMS`. Each keeps one stream open after the other; a third are
 * dropped at a random moment. Prints what became of them as a line of JSON.
 */
import { defaultIfEmpty, filter, lastValueFrom, takeUntil, timer } from 'rxjs';
import { httpClient } from '../../src/bench/http-client.ts';
import { createRandom } from '../../src/core/sampling/random.ts';

/** Much longer than any stream takes, even in a queue of all others. */
const STUCK_MS = 120_000;

export interface SoakCounts {
  completed: number;
  dropped: number;
  /** What failed streams said. */
  readonly failures: string[];
  stuck: number;
  tokens: number;
}

const [url, seconds, streams] = process.argv.slice(2) as [string, string, string];
const client = httpClient(url);
const until = performance.now() + Number(seconds) * 1000;
const counts: SoakCounts = { completed: 0, dropped: 0, failures: [], stuck: 0, tokens: 0 };

async function oneAfterTheOther(seed: number): Promise<void> {
  const random = createRandom(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  while (performance.now() < until) {
    const maxTokens = 1 + below(64);
    const prompt = Array.from({ length: 1 + below(96) }, () => 100 + below(8000));
    const params = { maxTokens, temperature: below(2) * 0.8, ignoreEos: true, seed: below(1e6) };
    const isDropped = below(3) === 0;
    const leave$ = timer(isDropped ? below(8000) : STUCK_MS);
    let hasLeft = false;
    leave$.subscribe(() => {
      hasLeft = true;
    });
    const finished$ = client.send({ prompt, params }).pipe(
      takeUntil(leave$),
      filter((event) => event.type === 'finished'),
      defaultIfEmpty(undefined),
    );
    try {
      const finished = await lastValueFrom(finished$);
      if (finished === undefined) counts[isDropped ? 'dropped' : 'stuck'] += 1;
      else if (finished.outputTokens === maxTokens) counts.completed += 1;
      else counts.failures.push(`${finished.outputTokens} tokens, not ${maxTokens}`);
      counts.tokens += finished?.outputTokens ?? 0;
    } catch (error) {
      if (!hasLeft) counts.failures.push(String(error));
    }
  }
}

await Promise.all(Array.from({ length: Number(streams) }, (_, i) => oneAfterTheOther(i)));
console.log(JSON.stringify(counts));
process.exit(0);
