import { NEVER, Subject } from 'rxjs';
import { expect, it } from 'vitest';
import { fakeEngine, say } from '../../test/support/fake-engine.ts';
import { eventually } from '../../test/support/waiting.ts';
import { printGeneration } from './print-generation.ts';

function screen() {
  const out = { stdout: '', stderr: '' };
  return {
    out,
    stdout: (text: string) => {
      out.stdout += text;
    },
    stderr: (text: string) => {
      out.stderr += text;
    },
  };
}

it('prints one line of JSON and nothing else', async () => {
  const { out, ...writers } = screen();
  const engine = fakeEngine(() => say(['Hel', 'lo']));
  await expect(printGeneration(engine, { prompt: 'x' }, { json: true, stop$: NEVER, ...writers })).resolves.toBe(true);
  expect(out).toEqual({
    stdout:
      '{"engine":"fake","text":"Hello","output_ids":[72,108],"finish_reason":"stop",' +
      '"metrics":{"throughput":12.3,"input_tokens":3,"output_tokens":2,"ttft_ms":5.13}}\n',
    stderr: '',
  });
});

it('prints text as it comes, and what was measured beside it', async () => {
  const { out, ...writers } = screen();
  const engine = fakeEngine(() => say(['Hel', 'lo']));
  await printGeneration(engine, { prompt: 'x' }, { json: false, stop$: NEVER, ...writers });
  expect(out).toEqual({ stdout: 'Hello\n', stderr: '\n2 tokens, 12.3 tokens/s, TTFT 5.13 ms, ended by stop\n' });
});

it('says whether the limit or the context ended it', async () => {
  const engine = fakeEngine(() => say(['Hel', 'lo'], { reason: 'length' }));
  for (const [maxTokens, end] of [
    [2, 'ended by length\n'],
    [3, 'ended by length (the context is full)\n'],
  ] as const) {
    const { out, ...writers } = screen();
    await printGeneration(engine, { prompt: 'x', params: { maxTokens } }, { json: false, stop$: NEVER, ...writers });
    expect(out.stderr.endsWith(end)).toBe(true);
  }
});

it('prints the text of an engine that gives only its result', async () => {
  const { out, ...writers } = screen();
  const engine = fakeEngine(() => say(['Hel', 'lo']).filter(({ type }) => type !== 'token'));
  await printGeneration(engine, { prompt: 'x' }, { json: false, stop$: NEVER, ...writers });
  expect(out.stdout).toBe('Hello\n');
});

it('cancels the request when it is stopped', async () => {
  const { out, ...writers } = screen();
  const engine = fakeEngine(() => [...say(['Hel', 'lo']).slice(0, 3), { type: 'hang' }]);
  const stop$ = new Subject<void>();
  const printed = printGeneration(engine, { prompt: 'x' }, { json: false, stop$, ...writers });
  await eventually(() => expect(out.stdout).toBe('Hel'));
  stop$.next();
  await expect(printed).resolves.toBe(false);
  expect(engine.cancelled).toBe(1);
  expect(out).toEqual({ stdout: 'Hel', stderr: '' });
});
