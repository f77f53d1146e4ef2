import { loadTest } from './support/load.ts';

/** `RXLLM_SOAK_SECONDS` shortens it. */
loadTest({ seconds: Number(process.env['RXLLM_SOAK_SECONDS'] ?? 300), isMeasured: true });
