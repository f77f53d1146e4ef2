import { describe, expect, it, vi } from 'vitest';
import { modelDirectory } from '../../test/support/models.ts';
import { engines, QUANTIZATIONS, speculative } from '../engines/index.ts';
import { changedSlots, checkDraftModel } from './model-options.ts';
import { createProgram } from './program.ts';

const floats = { name: 'floats', config: {} };
const fourBits = {
  name: 'small',
  config: { quantization: { method: 'gptq', bits: 4, groupSize: 32, zeroOffset: 1 } },
} as const;
const recipeOf = (name: string) => engines.find(({ recipe }) => recipe.name === name)!.recipe;

describe('--quantize', () => {
  it('swaps the graph of engines that share one', () => {
    const changed = ['kv-cache', 'static-batching', 'continuous-batching', 'paged-attention', 'speculative'];
    for (const name of changed) {
      const slots = changedSlots(recipeOf(name), { quantize: 'int8' }, floats);
      expect(slots).toMatchObject({ model: QUANTIZATIONS.int8, exact: false });
    }
  });

  it.each(['baseline', 'transformer', 'flash-attention', 'int4'])(
    'is refused where it would replace that of %s',
    (name) => {
      const error = { code: 'RXLLM_OPTION_INVALID', param: 'quantize', message: expect.stringContaining(name) };
      expect(() => changedSlots(recipeOf(name), { quantize: 'int8' }, floats)).toThrow(expect.objectContaining(error));
      expect(() => changedSlots(recipeOf(name), {}, floats)).not.toThrow();
    },
  );

  it('is refused for weights that are quantized already', () => {
    const message = 'quantize: the weights of small have 4 bits already; leave it out.';
    const error = expect.objectContaining({ code: 'RXLLM_OPTION_INVALID', message });
    expect(() => changedSlots(recipeOf('kv-cache'), { quantize: 'int8' }, fourBits)).toThrow(error);
    expect(() => changedSlots(recipeOf('int4'), {}, fourBits)).not.toThrow();
  });
});

it('--draft-model is for the engine that drafts', () => {
  const draftModel = modelDirectory('storyteller-draft');
  expect(changedSlots(speculative, { draftModel }, floats)).toHaveProperty('decode');
  const error = expect.objectContaining({ code: 'RXLLM_OPTION_INVALID', param: 'draftModel' });
  expect(() => checkDraftModel(recipeOf('kv-cache'), { draftModel })).toThrow(error);
});

describe('generate', () => {
  /** What it prints. */
  async function generate(...args: string[]) {
    const printed: string[] = [];
    const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
    try {
      const fixed = ['generate', '--prompt', 'Once upon a time', '--max-tokens', '12', '--json'];
      await createProgram().parseAsync([...fixed, ...args], { from: 'user' });
    } finally {
      write.mockRestore();
    }
    return JSON.parse(printed.join(''));
  }

  it('takes both', async () => {
    const float = await generate();
    const draft = await generate('--engine', 'speculative', '--draft-model', modelDirectory('storyteller-draft'));
    expect(draft.output_ids).toEqual(float.output_ids);
    expect(draft.metrics.tokens_proposed).toBeGreaterThan(0);
    const rounded = await generate('--quantize', 'int8');
    expect(rounded.output_ids).toHaveLength(12);
    await expect(generate('--draft-model', modelDirectory('storyteller-draft'))).rejects.toThrow(
      'draftModel: kv-cache',
    );
  });
});
