/** The two engines in turn on one request, on a chat, and the first token behind a prefix that is cached or cold. */
import { createEngine, loadModel, type Model, paged, prefixCaching } from 'rxllm';
import { median, quartiles } from 'rxllm/bench';
import { randomSmolLmModel } from '../../bench/support/random-model.ts';
import { coldAndWarm, sharedPrefixPrompts } from '../../bench/support/shared-prefix.ts';
import { args, size } from '../support/args.ts';
import { beforeAndAfter } from '../support/before-and-after.ts';
import { chat, QUESTIONS, type Turn } from '../support/chat.ts';
import { writeMeasured } from '../support/measured.ts';
import { markdownTable } from '../support/table.ts';

const PAIRS = size(15, 1);
const embedded = await loadModel(args.model);
const prompts = sharedPrefixPrompts(embedded.tokenizer);

async function sharedPrefix(model: Model): Promise<(string | number)[]> {
  const engine = await createEngine(prefixCaching, model, { maxModelLen: 2048 });
  const { cold, warm, ratios, cached } = await coldAndWarm(engine, prompts, PAIRS);
  await engine.close();
  const ratio = `${median(ratios).toFixed(1)} (${quartiles(ratios, 1)})`;
  return [model.name, prompts[0]!.length, cached, median(cold).toFixed(2), median(warm).toFixed(2), ratio];
}

/** The same chat on both engines in turn; a fresh engine each time, so that every chat begins cold. */
async function chats(): Promise<string> {
  const rounds: (readonly [without: Turn[], withCache: Turn[]])[] = [];
  const once = async (recipe: typeof paged) => {
    const engine = await createEngine(recipe, embedded);
    await chat(engine, ['Hello!'], 4);
    const turns = await chat(engine, QUESTIONS.slice(0, size(4, 2)), size(80, 8));
    await engine.close();
    return turns;
  };
  for (let round = 0; round < size(7, 1); round++) rounds.push([await once(paged), await once(prefixCaching)]);
  const rows = rounds[0]![1].map(({ promptTokens, cached }, turn) => {
    const ms = (side: 0 | 1) => median(rounds.map((round) => round[side][turn]!.ttftMs)).toFixed(2);
    return [turn + 1, promptTokens, cached, `${Math.round((100 * cached) / promptTokens)}%`, ms(0), ms(1)];
  });
  const head = ['turn', 'prompt tokens', 'found', 'of them'];
  return markdownTable([...head, `TTFT \`${paged.name}\`, ms`, `TTFT \`${prefixCaching.name}\`, ms`], rows);
}

const compared = await beforeAndAfter([paged.name, prefixCaching.name], { pairs: PAIRS, maxTokens: size(128, 4) });
const prefixes = [await sharedPrefix(embedded)];
if (!args.quick) prefixes.push(await sharedPrefix(await randomSmolLmModel()));
const head = ['model', 'prompt tokens', 'found', 'TTFT cold, ms', 'TTFT warm, ms', 'cold over warm'];
writeMeasured(
  import.meta.url,
  `${compared}

A shared system prompt of 1,036 tokens, cold and warm in turn, ${PAIRS} pairs (median, quartiles):

${markdownTable(head, prefixes)}

A chat of ${size(4, 2)} turns, ${size(7, 1)} times on each engine in turn (medians):

${await chats()}`,
);
