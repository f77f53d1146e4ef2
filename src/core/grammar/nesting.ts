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
