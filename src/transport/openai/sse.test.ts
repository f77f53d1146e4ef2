import { connect } from 'node:net';
import fastify from 'fastify';
import { BehaviorSubject, finalize, NEVER, of, startWith } from 'rxjs';
import { expect, it } from 'vitest';
import { until } from '../../../test/support/waiting.ts';
import { sendEvents } from './sse.ts';

it('disconnects a client that reads nothing for too long', async () => {
  const app = fastify();
  let left = false;
  const values$ = NEVER.pipe(
    startWith('x'.repeat(32 * 1024 ** 2)),
    finalize(() => {
      left = true;
    }),
  );
  app.get('/', (_request, reply) => sendEvents(reply, values$, new BehaviorSubject(true), 50));
  app.get('/patient', (_request, reply) => sendEvents(reply, of('y'), new BehaviorSubject(true), 50));
  const address = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
  const socket = connect(Number(address.port), address.hostname).on('error', () => {});
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(() => left);
  expect(await (await fetch(new URL('/patient', address))).text()).toBe('data: "y"\n\ndata: [DONE]\n\n');
  socket.destroy();
  await app.close();
});
