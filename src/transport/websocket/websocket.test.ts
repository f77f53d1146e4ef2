import { describe, expect, it } from 'vitest';
import { say } from '../../../test/support/fake-engine.ts';
import { generate, hang, listen, serveSockets, token } from '../../../test/support/socket-server.ts';
import { eventually } from '../../../test/support/waiting.ts';
import { RxllmError } from '../../core/errors.ts';

describe('a stream', () => {
  it('is told as queued, token, finished', async () => {
    const { open, engine } = await serveSockets(() => say(['Hel', 'lo'], { reason: 'length' }));
    const socket = await open();
    socket.send(generate('x', { max_tokens: 3, temperature: 0, stop: null }));
    await socket.end('x');
    expect(socket.received).toEqual([
      { type: 'queued', id: 'x', position: 0 },
      { type: 'token', id: 'x', text: 'Hel', token_id: 72 },
      { type: 'token', id: 'x', text: 'lo', token_id: 108 },
      {
        type: 'finished',
        id: 'x',
        finish_reason: 'length',
        usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, prompt_tokens_details: { cached_tokens: 0 } },
        metrics: { throughput: 12.3, input_tokens: 3, output_tokens: 2, ttft_ms: 5.13 },
      },
    ]);
    expect(engine.requests[0]).toMatchObject({ prompt: 'hi', params: { maxTokens: 3, temperature: 0 } });
  });

  it('takes messages, token ids, and logprobs as over HTTP', async () => {
    const logprobs = [{ id: 72, logprob: -0.5, top: [{ id: 72, logprob: Number.NEGATIVE_INFINITY }] }];
    const { open, engine } = await serveSockets(() => say(['H'], { logprobs }));
    const socket = await open();
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }];
    socket.send({ type: 'generate', id: 'chat', messages, logprobs: true, top_logprobs: 1 });
    socket.send(generate('ids', { prompt: [1, 2], logprobs: 3 }));
    await socket.end('ids');
    expect(engine.requests.map(({ prompt }) => prompt)).toEqual([[{ role: 'user', content: 'hi' }], [1, 2]]);
    expect(engine.requests.map(({ params }) => params?.logprobs)).toEqual([1, 3]);
    expect(socket.of('chat').find(({ type }) => type === 'token')?.logprobs).toEqual({
      token: 'H',
      logprob: -0.5,
      bytes: [72],
      top_logprobs: [{ token: 'H', logprob: -9999, bytes: [72] }],
    });
  });

  it('has all its text in one message where the engine gives no tokens', async () => {
    const { open } = await serveSockets(() => say(['Hel', 'lo']).filter(({ type }) => type !== 'token'));
    const socket = await open();
    socket.send(generate('x'));
    await socket.end('x');
    expect(socket.received.map(({ type }) => type)).toEqual(['queued', 'token', 'finished']);
    expect(socket.received[1]).toEqual({ type: 'token', id: 'x', text: 'Hello', token_id: null });
  });

  it('runs beside others on its socket, and gives its id back when it ends', async () => {
    const { open } = await serveSockets(({ prompt }) => [
      ...say([`${prompt}1`]).slice(0, 3),
      ...say([`${prompt}2`]).slice(2),
    ]);
    const socket = await open();
    for (const id of ['a', 'b', 'c']) socket.send(generate(id, { prompt: id }));
    await Promise.all(['a', 'b', 'c'].map((id) => socket.end(id)));
    expect(['a', 'b', 'c'].map((id) => socket.text(id))).toEqual(['a1a2', 'b1b2', 'c1c2']);
    socket.send(generate('a', { prompt: 'again' }));
    await eventually(() => expect(socket.text('a')).toBe('a1a2again1again2'));
  });

  it('is cancelled by id, silently, and others go on', async () => {
    const { open, engine } = await serveSockets(hang);
    const socket = await open();
    socket.send(generate('a'));
    socket.send(generate('b'));
    await socket.next(token('b'));
    socket.send({ type: 'cancel', id: 'a' });
    socket.send({ type: 'cancel', id: 'a' });
    socket.send({ type: 'cancel', id: 'never' });
    await eventually(() => expect(engine).toMatchObject({ cancelled: 1, active: 1 }));
    socket.send(generate('a'));
    await eventually(() =>
      expect(socket.of('a').map(({ type }) => type)).toEqual(['queued', 'token', 'queued', 'token']),
    );
    await socket.close();
    await eventually(() => expect(engine).toMatchObject({ cancelled: 3, active: 0 }));
  });

  it('ends with the error of its engine, and the next is served', async () => {
    const failure = new RxllmError('RXLLM_CONTEXT_LENGTH_EXCEEDED', 'prompt: too long', { param: 'prompt' });
    const { open } = await serveSockets(({ params }) =>
      params?.seed === 1
        ? [{ type: 'fail', error: params.maxTokens === 1 ? failure : new Error('/secret') }]
        : say(['ok']),
    );
    const socket = await open();
    socket.send({ type: 'generate', id: 'a', messages: [{ role: 'user', content: 'hi' }], seed: 1, max_tokens: 1 });
    socket.send(generate('b', { seed: 1 }));
    socket.send(generate('c'));
    await socket.end('c');
    const code = 'RXLLM_CONTEXT_LENGTH_EXCEEDED';
    expect(socket.of('a')).toEqual([
      { type: 'error', id: 'a', code, message: 'messages: too long', param: 'messages' },
    ]);
    const message = expect.stringMatching(/^The server failed while handling this request; /);
    expect(socket.of('b')).toEqual([{ type: 'error', id: 'b', code: 'internal_error', message }]);
    expect(socket.text('c')).toBe('ok');
  });

  it('is refused under an id that is under way, which goes on', async () => {
    const { open, engine } = await serveSockets(hang);
    const socket = await open();
    socket.send(generate('a'));
    await socket.next(token('a'));
    socket.send(generate('a'));
    expect(await socket.next(({ type }) => type === 'error')).toMatchObject({
      id: 'a',
      code: 'RXLLM_INVALID_REQUEST',
      param: 'id',
    });
    expect(engine).toMatchObject({ active: 1, cancelled: 0 });
  });

  it('is refused past the limit of its socket', async () => {
    const { open, engine } = await serveSockets(hang, { webSocket: { maxStreams: 2 } });
    const socket = await open();
    for (const id of ['a', 'b', 'c']) socket.send(generate(id));
    expect(await socket.end('c')).toMatchObject({ type: 'error', code: 'too_many_streams' });
    expect(engine.active).toBe(2);
  });

  it('waits with an error while the model is loading', async () => {
    const { open } = await listen(undefined);
    const socket = await open();
    socket.send(generate('a'));
    expect(await socket.end('a')).toMatchObject({ type: 'error', code: 'engine_loading' });
  });
});
