/** The whole loop as one RxJS operator: `expand` feeds what comes out back in, until there is nothing to feed. */
import { EMPTY, expand, lastValueFrom, map } from 'rxjs';
import { loadModel, prebuilt, stock, type TokenId } from 'rxllm';
import { args, size } from '../support/args.ts';

const model = await loadModel(args.model);
const pool = { layout: 'none', blocks: 0, blockSize: 0 } as const;
const runner = await stock()(prebuilt()(model, 'none'), model, pool);
const prompt = model.tokenizer.encode(args.prompt);

/** One pass over all tokens: emits them with the likeliest next one behind. */
const step = (tokens: readonly TokenId[]) => {
  const [width, ids, logitsAt] = [tokens.length, [tokens], [tokens.length - 1]];
  return runner
    .forward({ rows: 1, width, ids, positions: [0], blockTables: [[]], logitsAt })
    .pipe(map(({ data }) => [...tokens, data.indexOf(Math.max(...data))]));
};

const end = prompt.length + size(24, 4);
const isDone = (tokens: readonly TokenId[]) => tokens.length >= end || model.tokenizer.eosIds.has(tokens.at(-1)!);
const generate$ = step(prompt).pipe(expand((tokens) => (isDone(tokens) ? EMPTY : step(tokens))));

const tokens = await lastValueFrom(generate$);
console.log(model.tokenizer.decode(tokens));
console.log(`\n${tokens.length - prompt.length} tokens, a forward pass each`);
await runner.dispose();
