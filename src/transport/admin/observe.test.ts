import { filter, firstValueFrom } from 'rxjs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { fakeEngine, say } from '../../../test/support/fake-engine.ts';
import { type RealServer, serveEngine, serveScript } from '../../../test/support/real-server.ts';
import { eventually } from '../../../test/support/waiting.ts';
import type { Engine } from '../../core/contracts/index.ts';
import { pagedBlocks } from '../../core/memory/paged-blocks.ts';
import { continuousBatching } from '../../core/scheduling/continuous-batching.ts';
import { schedule } from '../../operators/schedule.ts';
import { buildServer } from '../server.ts';
import type { FrameMessage, ObserveMessage } from './observe-messages.ts';

const open: RealServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

/** Two at once, in 8 blocks of 16 tokens. */
async function serve() {
  const server = await serveScript(
    { next: () => 50, delayMs: 2 },
    {
      schedule: schedule(continuousBatching({ maxNumSeqs: 2 })),
      kv: pagedBlocks({ blocks: 9 }),
      options: { maxModelLen: 64 },
    },
  );
  open.push(server);
  return server;
}

/** A client, with what it has received. */
async function observer(address: string, headers: Record<string, string> = {}) {
  const gone = new AbortController();
  const response = await fetch(`${address}/admin/observe`, { headers, signal: gone.signal });
  const received: ObserveMessage[] = [];
  const reading = (async () => {
    let rest = '';
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const events = (rest + chunk).split('\n\n');
      rest = events.pop()!;
      for (const event of events) {
        if (event !== 'data: [DONE]') received.push(JSON.parse(event.slice('data: '.length)));
      }
    }
  })();
  const frames = () => received.filter((message): message is FrameMessage => message.type === 'frame');
  const leave = async () => {
    gone.abort();
    await reading.catch(() => {});
  };
  return { response, received, frames, reading, leave };
}

const generate = { prompt: 'Once upon a time', max_tokens: 24, ignore_eos: true };

describe('/admin/observe', () => {
  it('shows the engine, each step of its sequences, their blocks, and nothing when they are gone', async () => {
    const server = await serve();
    const { frames, received, leave } = await observer(server.address);
    await eventually(() => expect(received).toHaveLength(2));
    expect(received[0]).toEqual({
      type: 'engine',
      engine: 'scripted',
      model: 'storyteller-12m',
      runtime: expect.any(String),
      kv: { layout: 'paged', blocks: 9, block_size: 16 },
    });
    expect(received[1]).toEqual({ type: 'frame', steps: [], running: [], waiting: [], blocks: [], stats: null });

    await Promise.all([1, 2, 3].map(() => server.post('/v1/completions', generate)));
    await eventually(() => expect(frames().at(-1)).toMatchObject({ running: [], waiting: [], stats: { running: 0 } }));
    const steps = frames().flatMap((frame) => frame.steps);
    const indices = steps.map(({ index }) => index);
    expect(indices).toEqual(Array.from(indices, (_, i) => indices[0]! + i));
    expect(new Set(steps.flatMap(({ rows }) => rows.map(([sequence]) => sequence)))).toEqual(new Set([1, 2, 3]));
    expect(steps.flatMap(({ finished }) => finished.map(({ sequence }) => sequence)).sort()).toEqual([1, 2, 3]);
    expect(steps.flatMap(({ ttft_ms }) => ttft_ms)).toHaveLength(3);

    const blocks = new Map(frames().flatMap((frame) => frame.blocks));
    expect(new Set(blocks.values())).toEqual(new Set(['free']));
    expect(frames().some((frame) => frame.blocks.some(([, state]) => Array.isArray(state)))).toBe(true);
    await leave();
  });

  it('takes nothing from an engine that nobody observes any more', async () => {
    const server = await serve();
    const snapshots = vi.spyOn(server.kv, 'snapshot');
    await server.post('/v1/completions', generate);
    expect(snapshots).not.toHaveBeenCalled();

    const { frames, leave } = await observer(server.address);
    await eventually(() => expect(frames()).toHaveLength(1));
    await leave();
    await eventually(async () => {
      const before = snapshots.mock.calls.length;
      await server.post('/v1/completions', generate);
      expect(snapshots.mock.calls.length).toBe(before);
    });
  });

  it('changes over to the engine that serves', async () => {
    const one: Engine = { ...fakeEngine(() => say(['a'])), name: 'one' };
    let current = one;
    const app = buildServer({ engine: () => current });
    const address = await app.listen({ port: 0, host: '127.0.0.1' });
    const { received, leave } = await observer(address);
    await eventually(() => expect(received).toMatchObject([{ engine: 'one' }]));
    current = { ...one, name: 'two' };
    await eventually(() => expect(received).toMatchObject([{ engine: 'one' }, { engine: 'two' }]));
    await leave();
    await app.close();
  });

  it('holds up no shutdown: it ends at once when the server drains', async () => {
    const server = await serve();
    const { frames, reading } = await observer(server.address);
    await eventually(() => expect(frames()).toHaveLength(1));
    await server.app.drain(60_000);
    await reading;
  });

  it('refuses more than 16 clients, until one leaves', async () => {
    const server = await serve();
    const observers = await Promise.all(Array.from({ length: 16 }, () => observer(server.address)));
    const refused = await fetch(`${server.address}/admin/observe`);
    expect([refused.status, await refused.json()]).toMatchObject([429, { error: { code: 'too_many_observers' } }]);
    await Promise.all(observers.map(({ leave }) => leave()));
    await eventually(async () => {
      const { response, leave } = await observer(server.address);
      await leave();
      expect(response.status).toBe(200);
    });
  });

  it('answers 503 while the model is loading', async () => {
    const reply = await buildServer({ engine: () => undefined }).inject('/admin/observe');
    expect([reply.statusCode, reply.json()]).toMatchObject([503, { error: { code: 'engine_loading' } }]);
  });

  it('is for this machine and its own pages alone, or for who has the key', async () => {
    const engine = fakeEngine(() => say(['a']));
    const url = '/admin/observe';
    const plain = buildServer({ engine: () => engine });
    expect((await plain.inject({ url, remoteAddress: '192.168.1.7' })).statusCode).toBe(403);
    for (const headers of [{ origin: 'http://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
      const reply = await plain.inject({ url, headers });
      expect([reply.statusCode, reply.json()]).toMatchObject([403, { error: { code: 'origin_not_allowed' } }]);
    }
    const keyed = await serveEngine(engine, { apiKeys: ['secret'] });
    open.push(keyed);
    expect((await fetch(keyed.address + url)).status).toBe(401);
    const { response, leave } = await observer(keyed.address, { authorization: 'Bearer secret' });
    expect(response.status).toBe(200);
    await leave();
  });

  it('takes no HEAD, which would never end', async () => {
    const reply = await buildServer({ engine: () => fakeEngine(() => say(['a'])) }).inject({
      method: 'HEAD',
      url: '/admin/observe',
    });
    expect([reply.statusCode, reply.headers.allow]).toEqual([405, 'GET']);
  });

  it('goes on with who reads while another client does not', async () => {
    const server = await serve();
    const stuck = await fetch(`${server.address}/admin/observe`);
    const { frames, leave } = await observer(server.address);
    const streaming = server.post('/v1/completions', generate);
    await firstValueFrom(server.engine.stats$.pipe(filter(({ running }) => running === 0)));
    expect((await streaming).body.usage?.completion_tokens).toBe(24);
    await eventually(() => expect(frames().at(-1)).toMatchObject({ running: [] }));
    await stuck.body?.cancel();
    await leave();
  });
});
