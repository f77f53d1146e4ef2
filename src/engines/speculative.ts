import { type DraftModelOptions, draftModel } from '../core/speculation/draft-model.ts';
import { EMBEDDED_DRAFT } from '../embedded-model.ts';
import { draft } from '../operators/draft.ts';
import { verify } from '../operators/verify.ts';
import { prefixCaching } from './prefix-caching.ts';
import { pipeSlots, swap } from './swap.ts';

/** The engine, drafted for by another model. */
export const speculativeWith = (directory = EMBEDDED_DRAFT, options: DraftModelOptions = {}) =>
  swap(prefixCaching, {
    name: 'speculative',
    decode: pipeSlots(draft(draftModel(directory, options), { k: 4 }), verify()),
  });

/** Chapter 13: a small model writes ahead, and the large one checks several of its tokens in one pass. */
export const speculative = speculativeWith();
