import { Counter, Gauge, Histogram, Registry } from 'prom-client';

const LABELS = ['model_name', 'engine'] as const;
export type Labels = Readonly<Record<(typeof LABELS)[number], string>>;

/** Upper bounds in seconds: vLLM's, with finer ones below, since small models on a CPU have steps of a millisecond. */
const FIRST_TOKEN_S = [
  0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640,
];
const TOKEN_S = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 10, 40,
];
const REQUEST_S = [
  0.01, 0.025, 0.05, 0.1, 0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920,
];
const TOKENS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000];

export type Instruments = ReturnType<typeof createInstruments>;

/** What `/metrics` shows, under vLLM's names: a registry of its own, so that servers never share counts. */
export function createInstruments() {
  const registry = new Registry();
  /** Each brings figures up to date that are too many to be set when they change: called before any is read. */
  const beforeRead = new Set<() => void>();
  const common = {
    registers: [registry],
    collect: () => {
      for (const update of beforeRead) update();
    },
  };
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `rxllm:${name}`, help, labelNames: LABELS, ...common });
  const counter = <L extends string = never>(name: string, help: string, more: readonly L[] = []) =>
    new Counter({ name: `rxllm:${name}_total`, help, labelNames: [...LABELS, ...more], ...common });
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name: `rxllm:${name}`, help, labelNames: LABELS, buckets, ...common });
  return {
    registry,
    beforeRead,
    running: gauge('num_requests_running', 'Requests in the batch of the latest step.'),
    waiting: gauge('num_requests_waiting', 'Requests in the queue after the latest step.'),
    kvUsage: gauge('kv_cache_usage_perc', 'KV blocks in use; 1 means 100 percent.'),
    prefixQueries: counter('prefix_cache_queries', 'Tokens looked for in the prefix cache.'),
    prefixHits: counter('prefix_cache_hits', 'Of those, tokens found.'),
    promptTokens: counter('prompt_tokens', 'Prompt tokens whose prefill is complete.'),
    generationTokens: counter('generation_tokens', 'Tokens generated.'),
    requests: counter('request_success', 'Requests that have ended; abort: cancelled, or past a deadline.', [
      'finished_reason',
    ]),
    drafts: counter('spec_decode_num_drafts', 'Drafts that were verified.'),
    draftTokens: counter('spec_decode_num_draft_tokens', 'Tokens of them.'),
    acceptedTokens: counter('spec_decode_num_accepted_tokens', 'Drafted tokens that stood.'),
    acceptedPerPosition: counter(
      'spec_decode_num_accepted_tokens_per_pos',
      'Drafted tokens that stood, by their place in the draft, from 0.',
      ['position'],
    ),
    preemptions: counter('num_preemptions', 'Times that a request lost its KV blocks to others.'),
    firstToken: histogram('time_to_first_token_seconds', 'From arrival to the first token.', FIRST_TOKEN_S),
    interToken: histogram('inter_token_latency_seconds', 'Between two tokens of a request.', TOKEN_S),
    tokenTime: histogram(
      'request_time_per_output_token_seconds',
      'Time per token after the first, the mean of a request.',
      TOKEN_S,
    ),
    endToEnd: histogram('e2e_request_latency_seconds', 'From arrival to the last event.', REQUEST_S),
    queueTime: histogram('request_queue_time_seconds', 'From arrival to the first step.', REQUEST_S),
    prefillTime: histogram('request_prefill_time_seconds', 'From the first step to the first token.', REQUEST_S),
    decodeTime: histogram('request_decode_time_seconds', 'From the first token to the last.', REQUEST_S),
    promptLength: histogram('request_prompt_tokens', 'Prompt tokens of a request.', TOKENS),
    generationLength: histogram('request_generation_tokens', 'Tokens generated for a request.', TOKENS),
  };
}
