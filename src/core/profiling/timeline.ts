export interface StageTime {
  readonly stage: string;
  /** The stage that it ran within, and whose `totalMs` it is part of. */
  readonly within?: string;
  readonly items: number;
  /** From the stage before it to its end, with what ran within it, in milliseconds. */
  readonly totalMs: number;
  /** Without what ran within it and has a line of its own. Over all lines these add up to the time that went by. */
  readonly selfMs: number;
}

/** A piece of work that begins and ends by itself, wherever the stages stand. */
export interface Span {
  readonly name: string;
  /** It belongs to no stage: who arrives in the middle of a step. */
  readonly apart: boolean;
  readonly startedAt: number;
  selfMs: number;
  endedAt?: number;
}

interface Sums {
  items: number;
  totalMs: number;
  selfMs: number;
}

/**
 * Cuts time into stages, so that each moment belongs to exactly one: to the span that was opened last, else to the stage
 * that is passed next. All times are milliseconds on one clock.
 */
export class Timeline {
  /** Up to here every moment has been given to somebody. */
  private mark: number | undefined;
  /** When the last stage was passed, and what of the time since then is no span's. */
  private passedAt = 0;
  private own = 0;
  private readonly open: Span[] = [];
  private ended: Span[] = [];
  private readonly stageSums = new Map<string, Sums>();
  private readonly innerSums = new Map<string, Map<string, Sums>>();

  /** Forgets everything, and counts from now on. */
  start(now: number): void {
    this.mark = now;
    this.passedAt = now;
    this.own = 0;
    this.ended = [];
    this.stageSums.clear();
    this.innerSums.clear();
    for (const span of this.open) span.selfMs = 0;
  }

  /** Whether there is a moment to count from. */
  get isRunning(): boolean {
    return this.mark !== undefined;
  }

  /** What went by since the last stage, but for spans, was this one's. */
  pass(stage: string, now: number): void {
    this.advance(now);
    add(this.stageSums, stage, now - this.passedAt, this.own);
    for (const span of this.ended) {
      const inner = this.innerSums.get(stage) ?? new Map<string, Sums>();
      this.innerSums.set(stage, inner);
      add(inner, span.name, span.endedAt! - span.startedAt, span.selfMs);
    }
    this.passedAt = now;
    this.own = 0;
    this.ended = [];
  }

  begin(name: string, now: number, { apart = false } = {}): Span {
    this.advance(now);
    const span = { name, apart, startedAt: now, selfMs: 0 };
    this.open.push(span);
    return span;
  }

  /** Idempotent. */
  end(span: Span, now: number): void {
    if (span.endedAt !== undefined) return;
    this.advance(now);
    span.endedAt = now;
    this.open.splice(this.open.indexOf(span), 1);
    if (span.apart) add(this.stageSums, span.name, now - span.startedAt, span.selfMs);
    else this.ended.push(span);
  }

  /** In the order in which they were first passed, what ran within a stage behind it. */
  stages(): StageTime[] {
    return [...this.stageSums].flatMap(([stage, sums]): StageTime[] => [
      { stage, ...sums },
      ...[...(this.innerSums.get(stage) ?? [])].map(([name, inner]) => ({ stage: name, within: stage, ...inner })),
    ]);
  }

  private advance(now: number): void {
    if (this.mark === undefined) this.start(now);
    const elapsed = now - this.mark!;
    this.mark = now;
    const span = this.open.at(-1);
    if (span === undefined) this.own += elapsed;
    else span.selfMs += elapsed;
  }
}

function add(sums: Map<string, Sums>, name: string, totalMs: number, selfMs: number): void {
  const sum = sums.get(name) ?? { items: 0, totalMs: 0, selfMs: 0 };
  sum.items += 1;
  sum.totalMs += totalMs;
  sum.selfMs += selfMs;
  sums.set(name, sum);
}
