/** A sampler of our own in an engine that is served over HTTP: it never picks a token with the letter "e". */
import { map } from 'rxjs';
import { type Computed, createEngine, kvCache, loadModel, pipeSlots, type Slot, sample, swap } from 'rxllm';
import { buildServer } from 'rxllm/transport';
import { args, size } from '../support/args.ts';

/** Takes the logits of every token with an "e" out of the race, before the usual sampler chooses. */
const withoutE: Slot<Computed, Computed> = ({ model: { tokenizer } }) => {
  const ids = Array.from({ length: tokenizer.vocabSize }, (_, id) => id);
  const banned = ids.filter((id) => /e/i.test(tokenizer.tokenText(id)));
  const mask = (logits: Float32Array) => {
    const masked = logits.slice();
    for (const id of banned) masked[id] = Number.NEGATIVE_INFINITY;
    return masked;
  };
  return map((step) => ({ ...step, logits: new Map([...step.logits].map(([id, logits]) => [id, mask(logits)])) }));
};

const recipe = swap(kvCache, { name: 'without-e', sample: pipeSlots(withoutE, sample()) });
const engine = await createEngine(recipe, await loadModel(args.model));
const app = buildServer({ engine: () => engine });
const address = await app.listen({ port: Number(args.port ?? 0), host: '127.0.0.1' });

const reply = await fetch(`${address}/v1/chat/completions`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    messages: [{ role: 'user', content: 'Tell me a story about a fox.' }],
    max_tokens: size(120, 40),
    temperature: 0.7,
    seed: 3,
  }),
});
const { choices } = (await reply.json()) as { choices: { message: { content: string } }[] };
const text = choices[0]!.message.content;
console.log(`${text}\n\n${text.length} characters, ${text.match(/e/gi)?.length ?? 0} of them an "e"`);
await app.close();
await engine.close();
