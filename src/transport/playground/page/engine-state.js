/**
 * @typedef {import('../../admin/observe-messages.ts').ObserveMessage} ObserveMessage
 * @typedef {import('../../admin/observe-messages.ts').EngineMessage} EngineMessage
 * @typedef {import('../../admin/observe-messages.ts').FrameMessage} FrameMessage
 * @typedef {import('../../admin/observe-messages.ts').BlockMessage} BlockMessage
 * @typedef {FrameMessage['steps'][number]} Step
 */

/** Steps that can be looked back on. */
const KEPT_STEPS = 2000;
/** Times that a median is taken over. */
const KEPT_TIMES = 32;

/** What is known of the engine that serves, from its messages. */
export class EngineState {
  /** @type {EngineMessage | undefined} */
  engine;
  /** @type {FrameMessage | undefined} The latest. */
  frame;
  /** @type {Step[]} Those that ran or took something, the latest last. */
  steps = [];
  /** @type {Map<number, BlockMessage>} Those that are not free. */
  blocks = new Map();
  /** @type {number[]} To the latest first tokens, in milliseconds. */
  ttfts = [];
  /** @type {number[]} A token, of the latest requests that ended, in milliseconds. */
  tpots = [];

  /** @param {ObserveMessage} message */
  apply(message) {
    if (message.type === 'engine') {
      Object.assign(this, new EngineState(), { engine: message });
      return;
    }
    this.frame = message;
    for (const step of message.steps) {
      if (step.rows.length > 0 || step.preempted.length > 0) this.steps.push(step);
      this.ttfts.push(...step.ttft_ms);
      for (const { metrics } of step.finished) if (metrics.tpot_ms !== undefined) this.tpots.push(metrics.tpot_ms);
    }
    this.steps.splice(0, this.steps.length - KEPT_STEPS);
    this.ttfts.splice(0, this.ttfts.length - KEPT_TIMES);
    this.tpots.splice(0, this.tpots.length - KEPT_TIMES);
    for (const [block, state] of message.blocks) {
      if (state === 'free') this.blocks.delete(block);
      else this.blocks.set(block, state);
    }
  }

  /** Nothing runs and nothing waits. */
  get isIdle() {
    return this.frame === undefined || this.frame.running.length + this.frame.waiting.length === 0;
  }
}
