import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SamplingParams, TokenId } from '../contracts/index.ts';
import { resolveParams } from './params.ts';
import { createPenalties } from './penalties.ts';

const apply = (params: Partial<SamplingParams>, logits: number[], tokens: TokenId[], promptLength: number) => {
  const changed = Float32Array.from(logits);
  createPenalties(resolveParams(params))?.apply(changed, tokens, promptLength);
  return [...changed];
};

describe('penalties', () => {
  test('none: nothing to do', () => {
    expect(createPenalties(resolveParams())).toBeUndefined();
  });

  test('repetition divides positive and multiplies negative logits, once, of prompt and output', () => {
    expect(apply({ repetitionPenalty: 2 }, [4, -4, 0, 4], [0, 0, 1, 2, 1], 2)).toEqual([2, -8, 0, 4]);
  });

  test('frequency counts occurrences in the output', () => {
    expect(apply({ frequencyPenalty: 0.5 }, [4, 4, 4], [0, 0, 1, 1, 1], 2)).toEqual([4, 2.5, 4]);
  });

  test('presence is subtracted once', () => {
    expect(apply({ presencePenalty: 0.5 }, [4, 4, 4], [0, 0, 1, 1, 1], 2)).toEqual([4, 3.5, 4]);
  });

  test('negative ones encourage', () => {
    expect(apply({ frequencyPenalty: -1, presencePenalty: -0.5 }, [0, 0], [1, 1], 0)).toEqual([0, 2.5]);
  });

  test('repetition comes before frequency and presence', () => {
    expect(apply({ repetitionPenalty: 2, frequencyPenalty: 1, presencePenalty: 1 }, [8], [0, 0], 0)).toEqual([1]);
  });

  test('a masked token stays masked', () => {
    const masked = Number.NEGATIVE_INFINITY;
    expect(apply({ repetitionPenalty: 2, presencePenalty: 1 }, [masked], [0], 0)).toEqual([masked]);
  });

  test('counts kept over calls equal a count of the whole text', () => {
    const VOCAB = 6;
    const id = fc.nat(VOCAB - 1);
    const penalty = { repetitionPenalty: 2, frequencyPenalty: 0.5, presencePenalty: 0.25 };
    fc.assert(
      fc.property(fc.array(id), fc.array(fc.array(id, { maxLength: 3 })), (prompt, outputs) => {
        const kept = createPenalties(resolveParams(penalty));
        const tokens = [...prompt];
        for (const more of outputs) {
          tokens.push(...more);
          const logits = Float32Array.from({ length: VOCAB }, (_, at) => at - 3);
          kept?.apply(logits, tokens, prompt.length);
          const whole = [...Array(VOCAB).keys()].map((at) => {
            const count = tokens.slice(prompt.length).filter((token) => token === at).length;
            const logit = at - 3;
            if (!tokens.includes(at)) return logit;
            return (logit > 0 ? logit / 2 : logit * 2) - 0.5 * count - (count > 0 ? 0.25 : 0);
          });
          expect([...logits]).toEqual(whole);
        }
      }),
    );
  });
});
