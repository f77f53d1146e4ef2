/**
 * A pass that blocks the event loop for less than this runs on it, and the loop serves its sockets between any two. Handing
 * it to a thread costs more than the handing over where cores are few: the thread, ONNX Runtime's own and the event loop
 * then share them (two cores, 8 rows of the embedded model: 4.6 ms a pass on the loop, 6.3 beside it).
 */
const SHORT_MS = 8;
/**
 * The same for a pass of several rows, which have as many readers: longer ones would take from the loop's thread what lets
 * it run as soon as a socket calls. With 256 clients on two cores, where passes of 6.5 ms ran on the loop, it came 31 ms
 * late in the worst of a hundred cases, and 6 ms late where they did not, at the same rate.
 */
const SHORT_OF_SEVERAL_MS = 5;
/** A shape that takes longer elsewhere is not tried on the loop. */
const MAY_BE_SHORT_MS = 8;
/** Passes elsewhere until the next trial. */
const TRY_AGAIN = 200;
/** Weight of the newest measurement, which counts for no more than so many times what is short. */
const NEWEST = 0.1;
const MOST = 1.6;
/** The mean that a shape has on the loop before its trial, of what is short: a few passes that are not end it. */
const UNTRIED = 0.8;

/** Whether passes of one shape are short, by how long they have taken. Unknown ones count as long. */
export class Pace {
  readonly #shortMs: number;
  /** The least: a time on another thread includes waiting for this one, so it only ever bounds the true time from above. */
  #elsewhereMs = Number.POSITIVE_INFINITY;
  #hereMs: number;
  #untilTrial = TRY_AGAIN;

  constructor(rows: number) {
    this.#shortMs = rows > 1 ? SHORT_OF_SEVERAL_MS : SHORT_MS;
    this.#hereMs = UNTRIED * this.#shortMs;
  }

  get isShort(): boolean {
    return this.#elsewhereMs < MAY_BE_SHORT_MS && this.#hereMs < this.#shortMs;
  }

  ranHere(ms: number): void {
    this.#hereMs += (Math.min(ms, MOST * this.#shortMs) - this.#hereMs) * NEWEST;
    this.#untilTrial = TRY_AGAIN;
  }

  ranElsewhere(ms: number): void {
    this.#elsewhereMs = Math.min(this.#elsewhereMs, ms);
    if (this.#hereMs < this.#shortMs) return;
    this.#untilTrial -= 1;
    if (this.#untilTrial === 0) this.#hereMs = UNTRIED * this.#shortMs;
  }
}
