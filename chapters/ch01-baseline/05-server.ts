/** The engine behind an OpenAI-compatible HTTP API. With --port it stays; without, it answers one request and stops. */
import { once } from 'node:events';
import { baseline, createEngine, loadModel } from 'rxllm';
import { buildServer } from 'rxllm/transport';
import { args, size } from '../support/args.ts';

const engine = await createEngine(baseline, await loadModel(args.model));
const app = buildServer({ engine: () => engine });
const address = await app.listen({ port: Number(args.port ?? 0), host: '127.0.0.1' });

const body = { messages: [{ role: 'user', content: 'Tell me a story.' }], max_tokens: size(40, 4), temperature: 0 };
console.log(`Listening at ${address}. Try it:
  curl ${address}/v1/chat/completions -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`);

if (args.port === undefined) {
  const health = await fetch(`${address}/health`);
  console.log(`\nGET /health: ${health.status}\nPOST /v1/chat/completions:`);
  const reply = await fetch(`${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  console.log(JSON.stringify(await reply.json(), null, 2));
} else {
  await once(process, 'SIGINT');
}
await app.close();
await engine.close();
