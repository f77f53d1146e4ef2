/**
 * What HTTP adds to a completion: `/v1/completions` with token ids against `generate` in process with the same ids, on
 * one engine. Client and server share the process, so the client's own work counts as HTTP's: an upper bound.
 *
 *     npx tsx bench/http-overhead.ts [--pairs 200] [--tokens 128] [--pass-ms 1.5]
 *
 * With `--pass-ms` a pass is a wait of that long instead of the model: the same each time, where a machine's own unrest
 * hides what HTTP adds.
 */
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median, quartiles } from '../src/bench/stats.ts';
import type { Engine } from '../src/core/contracts/index.ts';
import { loadModel } from '../src/core/model/load-model.ts';
import { scriptedRuntime } from '../src/core/runtime/scripted-runner.ts';
import { createEngine } from '../src/engines/create-engine.ts';
import { kvCache } from '../src/engines/kv-cache.ts';
import { swap } from '../src/engines/swap.ts';
import { buildServer } from '../src/transport/server.ts';

const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '200' },
    tokens: { type: 'string', default: '128' },
    'pass-ms': { type: 'string' },
  },
});
const pairs = Number(values.pairs);
const maxTokens = Number(values.tokens);
const WARM_UP = 20;
const prompt = [894, 670, 262, 518, 15, 428, 298, 262, 462, 2200, 649];

const model = await loadModel(fileURLToPath(new URL('../models/storyteller-12m', import.meta.url)));
const passMs = values['pass-ms'];
const wait = scriptedRuntime({
  next: () => {
    const end = performance.now() + Number(passMs);
    while (performance.now() < end);
    return prompt[0]!;
  },
});
const recipe = passMs === undefined ? kvCache : swap(kvCache, { name: `passes of ${passMs} ms`, runtime: wait });
const engine = await createEngine(recipe, model);
const app = buildServer({ engine: () => engine });
const address = await app.listen({ port: 0, host: '127.0.0.1' });

/** Each gives the number of tokens that came. */
const runs = {
  'in process': () => inProcess(engine),
  'HTTP, whole': () => overHttp(false),
  'HTTP, streamed': () => overHttp(true),
};

async function inProcess({ generate }: Engine): Promise<number> {
  return (await generate(prompt, maxTokens, { ignoreEos: true })).outputIds.length;
}

async function overHttp(stream: boolean): Promise<number> {
  const body = { prompt, max_tokens: maxTokens, ignore_eos: true, temperature: 0, stream };
  const text = await post('/v1/completions', JSON.stringify(body));
  if (!stream) return (JSON.parse(text) as { usage: { completion_tokens: number } }).usage.completion_tokens;
  if (!text.includes('data: [DONE]\n\n')) throw new Error(`the stream broke off: ${text.slice(-200)}`);
  return maxTokens;
}

/** One connection and the least of a client: what Node's own would add is no part of what the server adds. */
const socket = connect(Number(new URL(address).port), '127.0.0.1')
  .setNoDelay()
  .setEncoding('utf8');

function post(path: string, body: string): Promise<string> {
  const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
  return new Promise((resolve, reject) => {
    let reply = '';
    const read = (piece: string) => {
      reply += piece;
      const bodyAt = reply.indexOf('\r\n\r\n') + 4;
      const length = /content-length: (\d+)/i.exec(reply)?.[1];
      const isWhole = length === undefined ? reply.endsWith('\r\n0\r\n\r\n') : reply.length >= bodyAt + Number(length);
      if (bodyAt < 4 || !isWhole) return;
      socket.off('data', read);
      if (reply.startsWith('HTTP/1.1 200')) resolve(reply.slice(bodyAt));
      else reject(new Error(reply));
    };
    socket.on('data', read);
    socket.write(head + body);
  });
}

async function timed(name: keyof typeof runs): Promise<number> {
  const start = performance.now();
  const tokens = await runs[name]();
  const ms = performance.now() - start;
  if (tokens !== maxTokens) throw new Error(`${name} gave ${tokens} tokens, not ${maxTokens}`);
  return ms;
}

const show = (sample: readonly number[], digits: number) =>
  `${median(sample).toFixed(digits)} (${quartiles(sample, digits)})`;

console.log(`${engine.description}; ${maxTokens} tokens, ${pairs} pairs; median (quartiles)`);
for (const name of ['HTTP, whole', 'HTTP, streamed'] as const) {
  for (let i = 0; i < WARM_UP; i++) {
    await timed('in process');
    await timed(name);
  }
  const inProcessMs: number[] = [];
  const httpMs: number[] = [];
  for (let pair = 0; pair < pairs; pair++) {
    // Each goes first in turn: what drifts, drifts for both.
    const order = pair % 2 === 0 ? (['in process', name] as const) : ([name, 'in process'] as const);
    for (const which of order) (which === name ? httpMs : inProcessMs).push(await timed(which));
  }
  const added = httpMs.map((ms, pair) => ms - inProcessMs[pair]!);
  const ratios = httpMs.map((ms, pair) => inProcessMs[pair]! / ms);
  const perSecond = inProcessMs.map((ms) => (maxTokens * 1000) / ms);
  const fastest = Math.min(...httpMs) - Math.min(...inProcessMs);
  console.log(
    `${name.padEnd(15)} added ms ${show(added, 2)}, tokens/s against in process ${show(ratios, 3)}, in process ${show(perSecond, 0)}; fastest against fastest, added ms ${fastest.toFixed(2)}`,
  );
}
socket.destroy();
await app.close();
await engine.close();
