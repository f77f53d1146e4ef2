import type { OpaqueRecipe } from '../core/contracts/index.ts';
import { prebuilt } from '../core/graph/prebuilt.ts';
import { stock } from '../core/runtime/stock-runner.ts';
import { generateWhole } from '../operators/generate-whole.ts';

/** Chapter 1: one operator does it all, on a graph from a file. */
export const baseline: OpaqueRecipe = {
  kind: 'opaque',
  name: 'baseline',
  exact: true,
  model: prebuilt(),
  runtime: stock(),
  box: generateWhole(),
};
