/**
 * A pass that blocks the event loop for less than this runs on it, and the loop serves its sockets between any two. Handing
 * it to a thread costs more than the handing over where cores are few: the thread, ONNX Runtime's own and the event loop
 * then share them (two cores, 8 rows of the embedded model: 4.6 ms a pass on the loop, 6.3 beside it). Longer ones would
 * take from the loop's thread what lets it run as soon as a socket calls: with 256 clients on two cores, where passes of
 * 6.5 ms ran on the loop, it came 31 ms late in the worst of a hundred cases, and 6 ms where they did not, at the same rate.
 */
const SHORT_MS = 5;
/** A shape that takes longer elsewhere is not tried on the loop; and no pass on the loop counts for more than this. */
const MAY_BE_SHORT_MS = 8;
/** The mean that a shape has on the loop before it is tried there: a few passes that are not short end the trial. */
const UNTRIED_MS = 4;
/** Passes elsewhere until the next trial. */
const TRY_AGAIN = 200;
/** Weight of the newest measurement. */
const NEWEST = 0.1;

/** Whether passes of one shape are short, by how long they have taken. Unknown ones count as long. */
export class Pace {
  /** The least: a time on another thread includes waiting for this one, so it only ever bounds the true time from above. */
  #elsewhereMs = Number.POSITIVE_INFINITY;
  #hereMs = UNTRIED_MS;
  #untilTry = TRY_AGAIN;

  get isShort(): boolean {
    return this.#elsewhereMs < MAY_BE_SHORT_MS && this.#hereMs < SHORT_MS;
  }

  ranHere(ms: number): void {
    this.#hereMs += (Math.min(ms, MAY_BE_SHORT_MS) - this.#hereMs) * NEWEST;
    this.#untilTry = TRY_AGAIN;
  }

  ranElsewhere(ms: number): void {
    this.#elsewhereMs = Math.min(this.#elsewhereMs, ms);
    if (this.#hereMs < SHORT_MS) return;
    this.#untilTry -= 1;
    if (this.#untilTry === 0) this.#hereMs = UNTRIED_MS;
  }
}
