import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { fakeEngine, say } from '../../../test/support/fake-engine.ts';
import { buildServer } from '../server.ts';

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
}

const text = readFileSync(new URL('../../../docs/grafana-dashboard.json', import.meta.url), 'utf8');

it('asks for metrics that there are, and of histograms for their buckets', async () => {
  const engine = fakeEngine(() => say(['a', 'b']));
  const app = buildServer({ engine: () => engine });
  const { body } = await app.inject('/metrics');
  await app.close();
  const types = new Map([...body.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name!, type!]));
  const names = [...text.matchAll(/rxllm:\w+/g)].map(([name]) => name);
  expect(names.length).toBeGreaterThan(25);
  for (const name of names) {
    const isBucket = name.endsWith('_bucket');
    const type = types.get(isBucket ? name.slice(0, -'_bucket'.length) : name);
    expect(type, name).toMatch(isBucket ? /^histogram$/ : /^(gauge|counter)$/);
  }
});

it('shows what an operator looks for', () => {
  const { panels } = JSON.parse(text) as Dashboard;
  const shown = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join('\n');
  for (const metric of [
    'time_to_first_token_seconds',
    'request_time_per_output_token_seconds',
    'e2e_request_latency_seconds',
    'num_requests_waiting',
    'kv_cache_usage_perc',
    'generation_tokens',
    'prefix_cache_hits',
    'spec_decode_num_accepted_tokens',
    'num_preemptions',
  ])
    expect(shown).toContain(`rxllm:${metric}`);
});
