import { RxllmError } from '../errors.ts';

/** How deep objects and arrays of a format may lie in each other: what reads and compiles them calls itself once a level. */
export const MAX_NESTING = 128;

/** Whether objects and arrays lie in each other deeper than that. Goes level by level, for the depth may be hostile. */
export function isNestedTooDeep(value: unknown, most = MAX_NESTING): boolean {
  let level = [value].filter(isNest);
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === most) return true;
    level = level.flatMap((one) => Object.values(one).filter(isNest));
  }
  return false;
}

function isNest(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/**
 * @throws RxllmError `RXLLM_GRAMMAR_TOO_LARGE` where the objects and arrays of a format lie in each other deeper than that
 */
export function refuseDeepNesting(format: unknown): void {
  if (!isNestedTooDeep(format)) return;
  const message = `responseFormat: its objects and arrays lie in each other more than ${MAX_NESTING} deep; make it flatter.`;
  throw new RxllmError('RXLLM_GRAMMAR_TOO_LARGE', message, { param: 'responseFormat' });
}
