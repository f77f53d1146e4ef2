import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { expect, it } from 'vitest';
import { contiguousSlots } from '../../src/core/memory/contiguous-slots.ts';
import { continuousBatching } from '../../src/core/scheduling/continuous-batching.ts';
import { schedule } from '../../src/operators/schedule.ts';
import { byteTokens } from '../support/byte-tokens.ts';
import { type RealServer, serveScript } from '../support/real-server.ts';
import { chunksOf, eventData } from '../support/replies.ts';
import { eventually, until } from '../support/waiting.ts';

const [A] = byteTokens('a');
/** With 20 alternatives a token, many times what the sockets of both ends hold. */
const CHOICES = 8;
const TOKENS = 700;

/** A streamed chat completion whose client stops reading after the first bytes. */
async function stalledClient({ address }: RealServer, body: object) {
  const headers = { 'content-type': 'application/json' };
  const client = request(`${address}/v1/chat/completions`, { method: 'POST', agent: false, headers });
  client.end(JSON.stringify({ ...body, stream: true }));
  const [response] = (await once(client, 'response')) as [IncomingMessage];
  let received = '';
  response.setEncoding('utf8').on('data', (data: string) => (received += data));
  await once(response, 'data');
  response.pause();
  return {
    /** Reads on to the end; all of it, from the first byte. */
    rest: async () => {
      response.resume();
      await once(response, 'end');
      return received;
    },
  };
}

it.each([
  { end: 'keep their memory', maxPauseMs: 60_000, waiting: 0 },
  { end: 'are preempted', maxPauseMs: 1, waiting: CHOICES },
])(
  'a client that stops reading pauses its sequences, which $end, and delays nobody',
  async ({ maxPauseMs, waiting }) => {
    const change = { schedule: schedule(continuousBatching()), kv: contiguousSlots() };
    const options = { maxPauseMs, maxNumSeqs: 2 * CHOICES };
    const server = await serveScript({ next: () => A! }, { ...change, options });
    const slow = await stalledClient(server, {
      messages: [{ role: 'user', content: 'Hi' }],
      n: CHOICES,
      max_tokens: TOKENS,
      logprobs: true,
      top_logprobs: 20,
    });
    const kept = CHOICES - waiting;
    await until(() => {
      const { running, ...now } = server.stats()!;
      return running === 0 && now.waiting === waiting && now.paused === kept;
    });

    for (let round = 0; round < 3; round++) {
      const ask = () => server.post('/v1/completions', { prompt: 'b', max_tokens: 50 });
      const replies = await Promise.all(Array.from({ length: CHOICES }, ask));
      for (const { body } of replies) expect(body.choices[0]?.text).toBe('a'.repeat(50));
    }
    // Meanwhile it had no row, and every step of the others was one of theirs.
    await eventually(() =>
      expect(server.stats()).toMatchObject({ running: 0, waiting, paused: kept, blocksUsed: kept }),
    );

    const texts = Array(CHOICES).fill('');
    for (const { choices } of chunksOf(eventData(await slow.rest()))) {
      for (const { index, delta } of choices) texts[index] += delta?.content ?? '';
    }
    expect(texts).toEqual(Array(CHOICES).fill('a'.repeat(TOKENS)));
    await server.close();
  },
);
