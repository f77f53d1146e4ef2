import { request } from './server.js';

/**
 * @typedef {import('../../admin/observe-messages.ts').ObserveMessage} ObserveMessage
 */

/**
 * The messages of `/admin/observe`, until the server ends them. EventSource could not bring the key.
 * @throws {import('./server.js').ServerError}
 * @returns {AsyncGenerator<ObserveMessage>}
 */
export async function* observe() {
  const { body } = await request('/admin/observe');
  if (body === null) return;
  let rest = '';
  for await (const text of chunks(body.pipeThrough(new TextDecoderStream()))) {
    const events = (rest + text).split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) {
      const data = event.replace(/^data: /, '');
      if (data !== '[DONE]') yield JSON.parse(data);
    }
  }
}

/**
 * Safari's streams cannot be iterated.
 * @param {ReadableStream<string>} stream
 * @returns {AsyncGenerator<string>}
 */
async function* chunks(stream) {
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}
