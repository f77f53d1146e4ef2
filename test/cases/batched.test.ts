import { lastValueFrom, tap } from 'rxjs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { median } from '../../src/bench/stats.ts';
import type { TokenEvent } from '../../src/core/contracts/index.ts';
import { contiguousSlots } from '../../src/core/memory/contiguous-slots.ts';
import { pagedBlocks } from '../../src/core/memory/paged-blocks.ts';
import { ortCApi } from '../../src/core/runtime/ort-c-api.ts';
import { createRandom } from '../../src/core/sampling/random.ts';
import { continuousBatching } from '../../src/core/scheduling/continuous-batching.ts';
import { staticBatching } from '../../src/core/scheduling/static-batching.ts';
import { schedule } from '../../src/operators/schedule.ts';
import { byteTokens } from '../support/byte-tokens.ts';
import { heldMemory } from '../support/memory.ts';
import { allGone, expectIdle, leavingClient, serveEmbedded, serveScript, steppedBy } from '../support/real-server.ts';
import { eventually, turns, until } from '../support/waiting.ts';

const [A] = byteTokens('a');
const endless = { next: () => A! };
const continuous = (chunk: number) => schedule(continuousBatching({ longPrefillTokenThreshold: chunk }));

describe('11. an abort during prefill is heeded, seven others decoding', () => {
  it.each([true, false])('streamed: %s', async (stream) => {
    const { script, pass, isRunning } = steppedBy(endless);
    const server = await serveScript(script, { schedule: continuous(32), kv: contiguousSlots() });
    onTestFinished(server.close);
    const others = Array.from({ length: 7 }, () => server.post('/v1/completions', { prompt: 'a', max_tokens: 30 }));
    const prompts = () => server.runner.calls.filter(({ width }) => width > 1).map(({ ids }) => ids[0]?.length);
    while (server.stats()?.running !== 7) await pass();
    const before = prompts().length;
    const client = leavingClient(server, '/v1/completions', { prompt: Array(300).fill(A), stream });
    while (prompts().length < before + 2) await pass();
    await until(isRunning);
    client.leave();
    await until(
      () => new Promise<boolean>((resolve) => server.app.server.getConnections((_, count) => resolve(count === 7))),
    );
    await turns();
    let ended = false;
    const replies = Promise.all(others).finally(() => {
      ended = true;
    });
    while (!ended) {
      if (isRunning()) await pass();
      await turns(1);
    }
    for (const { body } of await replies) {
      expect(body.choices[0]).toMatchObject({ text: 'a'.repeat(30), finish_reason: 'length' });
    }
    expect(prompts().slice(before)).toEqual([32, 32, 32]);
    await expectIdle(server);
  });
});

describe('12. blocks do not leak on abort, eight at a time', () => {
  it.each([
    // Room for three or four of the longest, so that sequences are preempted, too.
    ['continuous', { schedule: continuous(8), kv: pagedBlocks({ blocks: 14, blockSize: 16 }) }],
    ['static', { schedule: schedule(staticBatching({ maxWaitMs: 1 })), kv: contiguousSlots() }],
  ])('%s: 1,000 requests aborted at random moments', async (_, change) => {
    const server = await serveScript(endless, { ...change, options: { maxQueue: 1000 } });
    onTestFinished(server.close);
    const random = createRandom(12);
    const below = (limit: number) => Math.floor(random() * limit);
    const request = () => ({ prompt: Array(1 + below(40)).fill(A), max_tokens: 1 + below(10) });

    /** Before it is scheduled, in prefill or decode, after it has finished, or twice. */
    const overWebSocket = async () => {
      const socket = await server.socket();
      for (let i = 0; i < 100; i++) {
        const id = `${i}`;
        socket.send({ type: 'generate', id, ...request() });
        const moment = below(4);
        if (moment === 1) await turns(below(8));
        if (moment === 2) await socket.next((message) => message.id === id && message.type === 'token');
        if (moment === 3) await socket.end(id);
        for (let times = 1 + below(2); times > 0; times--) socket.send({ type: 'cancel', id });
      }
      await socket.close();
    };
    const overHttp = async () => {
      for (let i = 0; i < 25; i++) {
        const client = leavingClient(server, '/v1/completions', { ...request(), stream: below(2) === 0 });
        await turns(below(60));
        client.leave();
      }
    };
    await Promise.all(Array.from({ length: 8 }, () => [overWebSocket(), overHttp()]).flat());
    await allGone(server);
    await expectIdle(server);
    expect((await server.post('/v1/completions', { prompt: 'a', max_tokens: 3 })).body.choices[0]?.text).toBe('aaa');
  });
});

describe('16. sessions and tensors are freed, eight at a time', () => {
  it('500 generations, 100 of which throw in their consumer', async () => {
    const { live } = ortCApi();
    const before = { ...live };
    const server = await serveEmbedded({}, { schedule: continuous(512), kv: contiguousSlots() });
    const { engine } = server;
    const held: number[] = [];
    let next = 0;
    const client = async () => {
      while (next < 500) {
        const i = next++;
        const request = { prompt: [894, 670, 262 + (i % 50)], params: { maxTokens: 1 + (i % 4), ignoreEos: true } };
        if (i % 5 > 0) await lastValueFrom(engine.stream(request));
        else {
          const consumer = tap<TokenEvent>(({ type }) => {
            if (type === 'token') throw new Error('the consumer failed');
          });
          await expect(lastValueFrom(engine.stream(request).pipe(consumer))).rejects.toThrow('the consumer failed');
        }
        if (i % 10 === 9) held.push(heldMemory());
      }
    };
    await Promise.all(Array.from({ length: 8 }, client));
    await eventually(() => expect(server.stats()).toMatchObject({ running: 0, waiting: 0, blocksUsed: 0 }));
    expect(median(held.slice(-5))).toBeLessThan(median(held.slice(25, 30)) * 1.05);
    expect(live.tensors).toBeGreaterThan(before.tensors);
    await server.close();
    expect(live).toEqual(before);
  });
});
