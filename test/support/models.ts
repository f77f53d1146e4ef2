import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { KvLayout, KvPool } from '../../src/core/contracts/index.ts';

const fromRoot = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

export const modelDirectory = (name: string) => fromRoot(`models/${name}`);
export const fixtureDirectory = (name: string) => fromRoot(`test/fixtures/arch/${name}`);

export const ARCH_FIXTURES = [
  'llama-bf16',
  'llama-mlp-bias',
  'llama-rope-linear',
  'llama-rope-llama3',
  'llama-rope-yarn',
  'llama-sharded',
  'llama-untied-bias-headdim',
  'llama-v5-config',
] as const;

export interface GenerationCase {
  readonly name: string;
  readonly input_ids: readonly number[];
  readonly last_logits_top20: { readonly ids: readonly number[]; readonly values: readonly number[] };
  readonly greedy_ids: readonly number[];
}

/** What transformers gives for the embedded models; 64 greedy ids each, past end tokens. */
export function generationGoldens(model: string): readonly GenerationCase[] {
  return readJson<{ cases: GenerationCase[] }>(`models/goldens/${model}.generation.json`).cases;
}

export interface FixtureCase {
  readonly input_ids: readonly number[];
  /** The likeliest next token at each position. */
  readonly argmax: readonly number[];
  readonly last_logits: readonly number[];
  readonly greedy_ids: readonly number[];
  readonly greedy_margins: readonly number[];
}

export function fixtureGoldens(fixture: string): readonly FixtureCase[] {
  return readJson<{ cases: FixtureCase[] }>(`test/fixtures/arch/${fixture}/golden.json`).cases;
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(fromRoot(path), 'utf8')) as T;
}

export function testPool(layout: KvLayout): KvPool {
  if (layout === 'none') return { layout, blocks: 0, blockSize: 0 };
  return layout === 'paged' ? { layout, blocks: 140, blockSize: 16 } : { layout, blocks: 10, blockSize: 1024 };
}
