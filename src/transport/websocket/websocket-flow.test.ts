import { connect } from 'node:net';
import { BehaviorSubject, filter, first, firstValueFrom } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { say } from '../../../test/support/fake-engine.ts';
import { generate, hang, listen, serveSockets } from '../../../test/support/socket-server.ts';
import { eventually } from '../../../test/support/waiting.ts';
import type { Engine } from '../../core/contracts/index.ts';

describe('a client that reads slowly', () => {
  it('holds the engine back, which goes on when it reads', async () => {
    const text = 'x'.repeat(100_000);
    const { open, engine } = await serveSockets(() => say(Array.from({ length: 300 }, () => text)));
    const socket = await open();
    socket.ws.pause();
    socket.send(generate('a'));
    // 30 MB are more than what sockets themselves hold.
    await eventually(() => expect(engine.active).toBe(1));
    let before = -1;
    await eventually(
      () => {
        const { tokens } = engine;
        const still = tokens > 0 && tokens === before;
        before = tokens;
        expect(still).toBe(true);
      },
      { interval: 100 },
    );
    expect(before).toBeLessThan(300);
    socket.ws.resume();
    await socket.end('a');
    expect(socket.text('a')).toHaveLength(300 * text.length);
  });

  it('is disconnected when an engine cannot be held back', async () => {
    const text = 'x'.repeat(1_000_000);
    const tokens = say(Array.from({ length: 60 }, () => text));
    const { engine } = await serveSockets(() => tokens.flatMap((token) => [token, { type: 'wait', ms: 0 }]));
    // Deaf to demand, as an engine may be.
    const deaf: Engine = { ...engine, stream: ({ demand$: _, ...request }) => engine.stream(request) };
    const { open } = await listen(deaf);
    const socket = await open();
    socket.ws.pause();
    socket.send(generate('a'));
    await eventually(() => expect(engine).toMatchObject({ active: 0, cancelled: 1 }));
    expect(engine.tokens).toBeLessThan(60);
  });
});

describe('draining', () => {
  it('closes idle sockets at once, and others when their last stream has ended', async () => {
    const go$ = new BehaviorSubject(false);
    const { engine } = await serveSockets(() => say(['a', 'b']));
    const slow: Engine = {
      ...engine,
      stream: (request) => engine.stream({ ...request, demand$: go$ }),
    };
    const { app, open } = await listen(slow);
    const [idle, busy] = await Promise.all([open(), open()]);
    busy.send(generate('a'));
    await eventually(() => expect(engine.active).toBe(1));
    const drained = app.drain(60_000);
    expect(await idle.closed).toBe(1001);
    busy.send(generate('b'));
    expect(await busy.end('b')).toMatchObject({ type: 'error', code: 'RXLLM_ENGINE_CLOSED' });
    await expect(open()).rejects.toThrow('503');
    go$.next(true);
    expect(await busy.end('a')).toMatchObject({ type: 'finished', finish_reason: 'stop' });
    expect(await busy.closed).toBe(1001);
    await drained;
  });

  it('lets the server close though a peer does not answer, or never closed a refused upgrade', async () => {
    const { app, address, open } = await serveSockets(hang);
    const deaf = await open();
    deaf.ws.pause();
    const { hostname, port } = new URL(address);
    const refused = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    refused.write('GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    const answered$ = new BehaviorSubject('');
    refused.on('data', (data) => answered$.next(answered$.value + data)).on('error', () => {});
    await firstValueFrom(
      answered$.pipe(
        filter((text) => text.includes('404')),
        first(),
      ),
    );
    await app.close();
  });
});
