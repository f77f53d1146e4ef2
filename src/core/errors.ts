/** Every error that rxllm raises on purpose, with the HTTP status it has on the wire. */
const STATUS = {
  /** A file that a model folder must have is not there. */
  RXLLM_MODEL_FILE_MISSING: 500,
  /** A file of a model folder is cut short, inconsistent, or not what its name says. */
  RXLLM_MODEL_FILE_INVALID: 500,
  /** The model is whole, but of a kind that rxllm does not run. */
  RXLLM_MODEL_UNSUPPORTED: 500,
  RXLLM_CHAT_TEMPLATE_MISSING: 400,
  /** The chat template itself refused the messages. */
  RXLLM_CHAT_TEMPLATE_FAILED: 400,
  RXLLM_CONTEXT_LENGTH_EXCEEDED: 400,
  RXLLM_INVALID_REQUEST: 400,
  /** A schema, a pattern or a grammar that is wrong, or that cannot be followed. */
  RXLLM_GRAMMAR_INVALID: 400,
  /** It is right, but would take too much memory or time. */
  RXLLM_GRAMMAR_TOO_LARGE: 400,
  RXLLM_OPTION_INVALID: 400,
  RXLLM_ENGINE_UNKNOWN: 400,
  RXLLM_QUEUE_FULL: 429,
  RXLLM_ENGINE_CLOSED: 503,
  /** The slots of a recipe do not fit together, or it is no recipe. */
  RXLLM_RECIPE_INVALID: 500,
  /** The runtime's library cannot be loaded, or its self-check failed. */
  RXLLM_RUNTIME_UNAVAILABLE: 500,
  /** A forward pass failed. */
  RXLLM_RUNTIME_FAILED: 500,
  /** No WebGPU adapter, or none of the name that was asked for. */
  RXLLM_GPU_UNAVAILABLE: 500,
  /** A kernel does not compile, or its shapes or buffers do not fit it. */
  RXLLM_KERNEL_INVALID: 500,
  /** The GPU refused or lost what it was given. */
  RXLLM_GPU_FAILED: 500,
  /** A server that was started as a child process ended early or never got healthy. */
  RXLLM_SERVER_UNAVAILABLE: 503,
} as const;

export type ErrorCode = keyof typeof STATUS;

export interface ErrorDetails {
  /** The field or option at fault, as its user wrote it. */
  readonly param?: string;
  readonly cause?: unknown;
}

/** An error with a stable code; its message says what is wrong, why, and what to change. */
export class RxllmError extends Error {
  override readonly name = 'RxllmError';
  readonly code: ErrorCode;
  readonly param: string | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.param = details.param;
  }

  /** The HTTP status for this error. */
  get status(): number {
    return STATUS[this.code];
  }
}
