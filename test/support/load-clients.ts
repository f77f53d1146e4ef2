/**
 * Clients in a process of their own: `load-clients.ts URL SECONDS EVENT_STREAMS SOCKET_STREAMS`, forked with an IPC
 * channel. Each keeps one greedy stream open after the other until the time is over, at least one, and holds what comes
 * against the text that its prompt gives alone. Then all begin an endless one, and wait for the server to shut down.
 */
import { Agent, request } from 'node:http';
import { createRandom } from '../../src/core/sampling/random.ts';
import { TestSocket } from './socket.ts';

export interface LoadCounts {
  completed: number;
  /** What is wrong with the streams that were not as they should be. */
  readonly wrong: string[];
  /** How the endless streams ended: the reasons, counted. */
  readonly last: Record<string, number>;
}

interface Ended {
  readonly text: string;
  readonly reason: string;
}
type Ask = (body: object) => Promise<Ended>;

const PROMPTS = 48;
const STREAMS_A_SOCKET = 50;
const [url, seconds, eventStreams, socketStreams] = process.argv.slice(2) as [string, string, string, string];
const random = createRandom(7);
const below = (limit: number) => Math.floor(random() * limit);
const counts: LoadCounts = { completed: 0, wrong: [], last: {} };
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
const greedy = { temperature: 0, ignore_eos: true };
const asks = Array.from({ length: PROMPTS }, () => ({
  ...greedy,
  prompt: Array.from({ length: 4 + below(60) }, () => 300 + below(7000)),
  max_tokens: 4 + below(16),
}));

interface Chunk {
  readonly choices: readonly { readonly text: string; readonly finish_reason: string | null }[];
}

/** Over HTTP; the text of the chunks, and the reason of the last, which `[DONE]` must follow. */
const overEvents: Ask = (body) =>
  new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const sent = request(`${url}/v1/completions`, { method: 'POST', agent, headers }, (response) => {
      let received = '';
      response.setEncoding('utf8');
      response.on('data', (data: string) => (received += data));
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode !== 200) return reject(new Error(`${response.statusCode} ${received}`));
        const events = received.trimEnd().split('\n\n');
        if (events.pop() !== 'data: [DONE]') return reject(new Error(`cut off: ${received.slice(-200)}`));
        const choices = events.map((event) => (JSON.parse(event.slice('data: '.length)) as Chunk).choices[0]!);
        resolve({ text: choices.map(({ text }) => text).join(''), reason: choices.at(-1)?.finish_reason ?? 'none' });
      });
    });
    sent.on('error', reject);
    sent.end(JSON.stringify({ ...body, stream: true }));
  });

/** On a socket that others use, too. */
function overSocket(socket: TestSocket): Ask {
  let count = 0;
  return (body) =>
    new Promise((resolve, reject) => {
      const id = `${count++}`;
      let text = '';
      const onClose = (code: number) => reject(new Error(`closed with ${code}`));
      const stop = socket.listen(id, (message) => {
        if (message.type === 'token') text += message.text;
        if (message.type === 'error') reject(new Error(`${message.code}: ${message.message}`));
        if (message.type === 'finished') resolve({ text, reason: message.finish_reason ?? 'none' });
        if (message.type !== 'error' && message.type !== 'finished') return;
        stop();
        socket.ws.off('close', onClose);
      });
      socket.ws.once('close', onClose);
      socket.send({ type: 'generate', id, ...body });
    });
}

const expected: string[] = [];
for (const body of asks) expected.push((await overEvents(body)).text);
if (new Set(expected).size < PROMPTS / 2) counts.wrong.push('the texts are too much alike to tell them apart');

async function oneAfterTheOther(ask: Ask, first: number): Promise<void> {
  let at = first;
  do {
    const which = at++ % PROMPTS;
    try {
      const { text, reason } = await ask(asks[which]!);
      if (reason === 'length' && text === expected[which]) counts.completed += 1;
      else counts.wrong.push(`${reason}: "${text}" is not "${expected[which]}"`);
    } catch (error) {
      counts.wrong.push(String(error));
    }
  } while (performance.now() < until);
}

const sockets = await Promise.all(
  Array.from({ length: Math.ceil(Number(socketStreams) / STREAMS_A_SOCKET) }, () => new TestSocket(url).opened()),
);
for (const { ws } of sockets) ws.setMaxListeners(0);
const all: Ask[] = [
  ...Array.from({ length: Number(eventStreams) }, () => overEvents),
  ...sockets.map(overSocket).flatMap((ask) => Array.from({ length: STREAMS_A_SOCKET }, () => ask)),
].slice(0, Number(eventStreams) + Number(socketStreams));
const until = performance.now() + Number(seconds) * 1000;
await Promise.all(all.map((ask, index) => oneAfterTheOther(ask, index * 7)));
process.send?.({ counts });

process.once('message', async () => {
  const endless = { ...greedy, prompt: [894, 670, 262], max_tokens: 1900 };
  const ends = all.map(async (ask) => {
    const { reason } = await ask(endless).catch((error: unknown) => ({ reason: String(error) }));
    counts.last[reason] = (counts.last[reason] ?? 0) + 1;
  });
  await Promise.all(ends);
  const codes = await Promise.all(sockets.map(({ closed }) => closed));
  for (const code of codes) if (code !== 1001) counts.wrong.push(`a socket was closed with ${code}`);
  process.send?.({ counts }, () => process.exit(0));
});
