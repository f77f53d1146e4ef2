import { fuzz } from './support/fuzz.ts';

fuzz({ cases: 2000, seed: Number(process.env['RXLLM_FUZZ_SEED'] ?? Date.now() % 2 ** 31) });
