import { Subject, tap } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { fakeEngine, type Step, say } from '../../../test/support/fake-engine.ts';
import { fakeOptions } from '../../../test/support/fakes.ts';
import type { Engine, EngineStats, TokenEvent } from '../../core/contracts/index.ts';
import { RxllmError } from '../../core/errors.ts';
import { buildServer } from '../server.ts';
import { createInstruments } from './instruments.ts';
import { meteredSource } from './metered-engine.ts';

/** A metered engine on a clock that stands still but for `time.now`; each event comes `ms` after the one before it. */
function metered(script: () => Step[], { msPerEvent = 0, name = 'fake' } = {}) {
  const time = { now: 1000 };
  const fake = fakeEngine(script);
  const stats$ = new Subject<EngineStats>();
  const engine: Engine = {
    ...fake,
    name,
    options: fakeOptions({ clock: { now: () => time.now, schedule: fakeOptions().clock.schedule } }),
    stream: (request) =>
      fake.stream(request).pipe(
        tap(() => {
          time.now += msPerEvent;
        }),
      ),
    stats$,
  };
  const instruments = createInstruments();
  const source = meteredSource({ engine: () => engine }, instruments);
  const value = async (series: string) => {
    const line = (await instruments.registry.metrics()).split('\n').find((line) => line.startsWith(`rxllm:${series} `));
    return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')));
  };
  return { engine: source.engine()!, source, value, stats$ };
}

const labels = 'model_name="fake-model",engine="fake"';
const request = { prompt: 'hi' };
const replyWith = (metrics: object) => {
  const events = say(['a', 'b', 'c'], { reason: 'length', inputTokens: 7 });
  const last = events.at(-1) as Extract<TokenEvent, { type: 'finished' }>;
  const result = { ...last.result, metrics: { ...last.result.metrics, ...metrics } };
  return (): Step[] => [...events.slice(0, -1), { type: 'finished', result }];
};

describe('a metered engine', () => {
  it('counts on what came of drafts, from what the engine has summed up', async () => {
    const { value, stats$ } = metered(() => []);
    const stats = (drafts: number, acceptedPerPosition: readonly number[]): EngineStats => ({
      ...{ running: 1, paused: 0, waiting: 0, blocksUsed: 0, blocksTotal: 0, step: 0 },
      ...{ promptTokensPerS: 0, outputTokensPerS: 0, prefixCache: { queries: 0, hits: 0 } },
      specDecode: sums(drafts, acceptedPerPosition),
    });
    const sums = (drafts: number, acceptedPerPosition: readonly number[]) => ({
      drafts,
      tokensProposed: 4 * drafts,
      tokensAccepted: acceptedPerPosition.reduce((sum, one) => sum + one, 0),
      acceptedPerPosition,
      acceptanceRate: 0,
      meanAcceptedLength: 1,
    });
    stats$.next(stats(2, [2, 1]));
    stats$.next(stats(5, [4, 3, 1]));
    const counted = (series: string, more = '') => value(`spec_decode_num_${series}_total{${labels}${more}}`);
    expect(await counted('drafts')).toBe(5);
    expect(await counted('draft_tokens')).toBe(20);
    expect(await counted('accepted_tokens')).toBe(8);
    const positions = [0, 1, 2].map((position) => counted('accepted_tokens_per_pos', `,position="${position}"`));
    expect(await Promise.all(positions)).toEqual([4, 3, 1]);
  });

  it('counts and times a request by its events', async () => {
    const { engine, value } = metered(replyWith({ ttftMs: 500, tpotMs: 100, queueMs: 200 }), { msPerEvent: 250 });
    engine.stream(request).subscribe();
    const expected: [string, number][] = [
      [`prompt_tokens_total{${labels}}`, 7],
      [`generation_tokens_total{${labels}}`, 3],
      [`request_success_total{${labels},finished_reason="length"}`, 1],
      // queued, prefill, token: three events of 250 ms.
      [`time_to_first_token_seconds_sum{${labels}}`, 0.75],
      [`inter_token_latency_seconds_sum{${labels}}`, 0.5],
      [`inter_token_latency_seconds_count{${labels}}`, 2],
      [`e2e_request_latency_seconds_sum{${labels}}`, 1.5],
      [`request_queue_time_seconds_sum{${labels}}`, 0.2],
      [`request_prefill_time_seconds_sum{${labels}}`, 0.3],
      [`request_decode_time_seconds_sum{${labels}}`, 0.2],
      [`request_time_per_output_token_seconds_sum{${labels}}`, 0.1],
      [`request_prompt_tokens_sum{${labels}}`, 7],
      [`request_generation_tokens_sum{${labels}}`, 3],
    ];
    for (const [series, wanted] of expected) expect(await value(series), series).toBeCloseTo(wanted, 10);
  });

  it('leaves out what an engine did not measure', async () => {
    const { engine, value } = metered(replyWith({ ttftMs: 0, tpotMs: 0 }));
    engine.stream(request).subscribe();
    for (const name of ['queue', 'prefill', 'decode']) {
      expect(await value(`request_${name}_time_seconds_count{${labels}}`), name).toBeUndefined();
    }
  });

  it('counts the tokens of an engine that gives only its result', async () => {
    const whole = replyWith({ ttftMs: 0, tpotMs: 0 })().filter(({ type }) => type === 'queued' || type === 'finished');
    const { engine, value } = metered(() => whole);
    engine.stream(request).subscribe();
    expect(await value(`prompt_tokens_total{${labels}}`)).toBe(7);
    expect(await value(`generation_tokens_total{${labels}}`)).toBe(3);
    expect(await value(`time_to_first_token_seconds_count{${labels}}`)).toBeUndefined();
  });

  it('measures each subscription by itself', async () => {
    const { engine, value } = metered(() => say(['a']), { msPerEvent: 100 });
    const events = engine.stream(request);
    events.subscribe();
    events.subscribe();
    expect(await value(`time_to_first_token_seconds_count{${labels}}`)).toBe(2);
    expect(await value(`time_to_first_token_seconds_sum{${labels}}`)).toBeCloseTo(0.6);
    expect(await value(`inter_token_latency_seconds_count{${labels}}`)).toBeUndefined();
  });

  it('counts a prompt once, when its last chunk is computed, and preemptions', async () => {
    const chunk = (computed: number): Step => ({ type: 'prefill', computed, cached: 0, total: 6 });
    const { engine, value } = metered(() => [
      chunk(4),
      chunk(6),
      { type: 'preempted' },
      chunk(6),
      ...say(['a']).slice(2),
    ]);
    engine.stream(request).subscribe();
    expect(await value(`prompt_tokens_total{${labels}}`)).toBe(6);
    expect(await value(`num_preemptions_total{${labels}}`)).toBe(1);
  });

  it('counts what was cancelled and what failed, but not what was refused', async () => {
    const failure = new RxllmError('RXLLM_RUNTIME_FAILED', 'no');
    const scripts: Step[][] = [
      [...say(['a']).slice(0, 2), { type: 'hang' }],
      [...say(['a']).slice(0, 3), { type: 'fail', error: failure }],
      [{ type: 'fail', error: new RxllmError('RXLLM_QUEUE_FULL', 'full') }],
    ];
    const { engine, value } = metered(() => scripts.shift()!);
    engine.stream(request).subscribe().unsubscribe();
    for (let i = 0; i < 2; i++) engine.stream(request).subscribe({ error: () => {} });
    expect(await value(`request_success_total{${labels},finished_reason="abort"}`)).toBe(1);
    expect(await value(`request_success_total{${labels},finished_reason="error"}`)).toBe(1);
  });

  it('shows the engine’s own figures until it is closed', async () => {
    const { value, stats$ } = metered(() => []);
    expect(await value(`num_requests_waiting{${labels}}`)).toBe(0);
    expect(await value(`request_success_total{${labels},finished_reason="stop"}`)).toBe(0);
    const rates = { promptTokensPerS: 0, outputTokensPerS: 0, prefixCache: { queries: 30, hits: 16 }, step: 1 };
    stats$.next({ waiting: 3, running: 2, paused: 1, blocksUsed: 5, blocksTotal: 20, ...rates });
    expect(await value(`num_requests_waiting{${labels}}`)).toBe(3);
    expect(await value(`num_requests_running{${labels}}`)).toBe(3);
    expect(await value(`kv_cache_usage_perc{${labels}}`)).toBe(0.25);
    stats$.next({
      waiting: 3,
      running: 2,
      paused: 1,
      blocksUsed: 5,
      blocksTotal: 20,
      ...rates,
      prefixCache: { queries: 50, hits: 20 },
    });
    expect(await value(`prefix_cache_queries_total{${labels}}`)).toBe(50);
    expect(await value(`prefix_cache_hits_total{${labels}}`)).toBe(20);
    stats$.complete();
    expect(await value(`num_requests_waiting{${labels}}`)).toBeUndefined();
  });

  it('shows the newer of two engines of the same name, and still does when the older is closed', async () => {
    const stats = { running: 0, paused: 0, blocksUsed: 0, blocksTotal: 9, promptTokensPerS: 0, outputTokensPerS: 0 };
    const [older$, newer$] = [new Subject<EngineStats>(), new Subject<EngineStats>()];
    const send = (to$: Subject<EngineStats>, waiting: number) =>
      to$.next({ ...stats, waiting, prefixCache: { queries: 1, hits: 0 }, step: 1 });
    const engines = [older$, newer$].map((stats$) => ({ ...fakeEngine(() => []), stats$ }));
    const instruments = createInstruments();
    let serving = engines[0];
    const source = meteredSource({ engine: () => serving }, instruments);
    const waiting = async () => (await instruments.waiting.get()).values.map(({ value }) => value);
    source.engine();
    send(older$, 3);
    serving = engines[1];
    source.engine();
    expect(await waiting()).toEqual([0]);
    send(newer$, 2);
    send(older$, 5);
    expect(await waiting()).toEqual([2]);
    older$.complete();
    expect(await waiting()).toEqual([2]);
    newer$.complete();
    expect(await waiting()).toEqual([]);
  });

  it('is the same engine each time, and lets go of it', () => {
    const { engine, source, stats$ } = metered(() => []);
    expect(source.engine()).toBe(engine);
    expect(stats$.observed).toBe(true);
    source.stop();
    expect(stats$.observed).toBe(false);
  });
});

describe('/metrics', () => {
  it('is Prometheus text, of this server alone, from the requests of every protocol', async () => {
    const engine = fakeEngine(() => say(['a', 'b']));
    const [app, other] = [buildServer({ engine: () => engine }), buildServer({ engine: () => undefined })];
    await app.inject({ method: 'POST', url: '/v1/completions', payload: { prompt: 'hi' } });
    const reply = await app.inject('/metrics');
    expect(reply.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(reply.body).toContain(`rxllm:generation_tokens_total{${labels}} 2\n`);
    expect(reply.body).toContain('# TYPE rxllm:time_to_first_token_seconds histogram\n');
    expect((await other.inject('/metrics')).body).not.toContain('model_name');
    await Promise.all([app.close(), other.close()]);
  });
});
