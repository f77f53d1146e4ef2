/**
 * A pass that blocks the event loop for less than this runs on it, and the loop serves its sockets between any two. Handing
 * it to a thread costs more than the handing over where cores are few: the thread, ONNX Runtime's own and the event loop
 * then share them (two cores, 8 rows of the embedded model: 4.6 ms a pass on the loop, 6.3 beside it).
 */
const SHORT_MS = 8;
/** Weight of the newest measurement. */
const NEWEST = 0.2;

/** Whether passes of one shape are short, by how long they have taken. Unknown ones count as long. */
export class Pace {
  private ms = Number.POSITIVE_INFINITY;

  get isShort(): boolean {
    return this.ms < SHORT_MS;
  }

  ranHere(ms: number): void {
    this.ms += (ms - this.ms) * NEWEST;
  }

  /** On another thread a time includes waiting for this one, so it only ever bounds the true time from above. */
  ranElsewhere(ms: number): void {
    this.ms = Math.min(this.ms, ms);
  }
}
