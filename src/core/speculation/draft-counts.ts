import type { Sequence, Settled, SpecDecodeMetrics, TokenId } from '../contracts/index.ts';

/** Counts drafted and accepted tokens. */
export class DraftCounts {
  #drafts = 0;
  #proposed = 0;
  readonly #perPosition: number[] = [];

  /** One draft: how many tokens it had, and how many of them were accepted. */
  add(proposed: number, accepted: number): void {
    this.#drafts += 1;
    this.#proposed += proposed;
    for (let position = 0; position < proposed; position++) {
      this.#perPosition[position] = (this.#perPosition[position] ?? 0) + (position < accepted ? 1 : 0);
    }
  }

  /** Undefined where nothing was drafted. */
  metrics(): SpecDecodeMetrics | undefined {
    if (this.#drafts === 0) return undefined;
    const accepted = this.#perPosition.reduce((sum, count) => sum + count, 0);
    return {
      drafts: this.#drafts,
      tokensProposed: this.#proposed,
      tokensAccepted: accepted,
      acceptanceRate: accepted / this.#proposed,
      acceptedPerPosition: [...this.#perPosition],
      meanAcceptedLength: 1 + accepted / this.#drafts,
    };
  }
}

/** How many of the `drafted` tokens were accepted: as many as the `output` in their place begins with. */
export function acceptedOf(drafted: readonly TokenId[], output: readonly TokenId[]): number {
  const differs = drafted.findIndex((id, i) => id !== output[i]);
  return differs === -1 ? drafted.length : differs;
}

/** Of each draft that a step verified: whose it was, its length, and how many of its tokens were accepted. */
export function* verified(step: Settled): Generator<[Sequence, proposed: number, accepted: number]> {
  for (const { sequence } of step.rows) {
    const draft = step.drafts.get(sequence.id);
    const run = step.accepted.get(sequence.id);
    if (draft === undefined || run === undefined) continue;
    yield [sequence, draft.tokens.length, acceptedOf(draft.tokens, run)];
  }
}
