import { prepare } from './canvas.js';
import { colours } from './colours.js';
import { byId } from './dom.js';

/**
 * @typedef {import('./engine-state.js').EngineState} EngineState
 * @typedef {import('./engine-state.js').Step} Step
 */

const canvas = byId('timeline', HTMLCanvasElement);
const slider = byId('step', HTMLInputElement);
const detail = byId('step-detail', HTMLParagraphElement);
const legend = detail.textContent;

const ROWS = 14;
const ROW = 20;
const LABEL = 34;
const COLUMN = 6;
const AXIS = 16;
/** Tokens whose cell is as high as its row. */
const FULL = 512;

/** Looking at an earlier step, by its index; undefined: at the latest. @type {number | undefined} */
let heldAt;

/** @param {() => void} redraw */
export function startTimeline(redraw) {
  slider.addEventListener('input', () => {
    heldAt = slider.value === slider.max ? undefined : Number(slider.value);
    redraw();
  });
}

/** Sequences × steps, the latest at the right. @param {EngineState} state */
export function drawTimeline(state) {
  const { context, width } = prepare(canvas, ROWS * ROW + AXIS);
  const palette = colours();
  const steps = visibleSteps(state, Math.floor((width - LABEL) / COLUMN));
  const isLatest = heldAt === undefined;
  const waiting = isLatest ? numbers(state.frame?.waiting) : [];
  const rows = visibleRows(isLatest ? numbers(state.frame?.running) : [], steps, waiting);
  context.font = '11px system-ui, sans-serif';

  context.fillStyle = palette.line;
  for (let row = 1; row <= ROWS; row++) context.fillRect(LABEL, row * ROW - 1, width - LABEL, 1);
  for (const [i, sequence] of rows.entries()) {
    const y = i * ROW;
    context.fillStyle = palette.of(sequence);
    context.textAlign = 'right';
    context.fillText(`#${sequence}`, LABEL - 8, y + ROW - 5);
    if (waiting.includes(sequence)) {
      context.fillStyle = palette.quiet;
      context.fillRect(Math.min(LABEL + steps.length * COLUMN, width - COLUMN * 3), y + ROW - 6, COLUMN * 3, 2);
    }
  }
  for (const [i, step] of steps.entries()) drawStep(context, step, LABEL + i * COLUMN, rows, palette);
  drawAxis(context, steps, palette);
  describe(state, steps, rows);
}

/** @param {EngineState} state @param {number} columns */
function visibleSteps({ steps }, columns) {
  // What was looked at may be forgotten by now.
  if (heldAt !== undefined) heldAt = Math.max(heldAt, steps[0]?.index ?? 0);
  const end = heldAt === undefined ? steps.length : steps.findIndex(({ index }) => index >= Number(heldAt)) + 1;
  return steps.slice(Math.max(0, end - columns), end);
}

/** @param {readonly { sequence: number }[]} [sequences] */
const numbers = (sequences = []) => sequences.map(({ sequence }) => sequence);

/**
 * As many as there is room for: who runs first, then who ran, the latest first, then who waits.
 * @param {number[]} running
 * @param {Step[]} steps
 * @param {number[]} waiting
 */
function visibleRows(running, steps, waiting) {
  const seen = new Set(running);
  for (const { rows, preempted } of steps.toReversed()) {
    for (const [sequence] of rows) seen.add(sequence);
    for (const sequence of preempted) seen.add(sequence);
  }
  for (const sequence of waiting) seen.add(sequence);
  return [...seen].slice(0, ROWS).sort((a, b) => a - b);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Step} step
 * @param {number} x
 * @param {number[]} rows
 * @param {ReturnType<typeof colours>} palette
 */
function drawStep(context, { rows: cells, preempted }, x, rows, palette) {
  for (const [sequence, kind, tokens, drafted, accepted] of cells) {
    const row = rows.indexOf(sequence);
    if (row === -1) continue;
    const bottom = (row + 1) * ROW - 1;
    const height = heightOf(tokens + drafted);
    const stood = (height * (tokens + accepted)) / (tokens + drafted);
    context.fillStyle = palette.of(sequence);
    context.globalAlpha = kind === 'prefill' ? 1 : 0.6;
    context.fillRect(x, bottom - stood, COLUMN - 1, stood);
    context.globalAlpha = 0.22;
    context.fillRect(x, bottom - height, COLUMN - 1, height - stood);
    context.globalAlpha = 1;
  }
  context.fillStyle = palette.bad;
  for (const sequence of preempted) {
    const row = rows.indexOf(sequence);
    if (row !== -1) context.fillRect(x, row * ROW + 2, COLUMN - 1, ROW - 3);
  }
}

/** Of a cell, by its tokens, on a logarithmic scale. @param {number} tokens */
function heightOf(tokens) {
  const share = Math.log2(1 + tokens) / Math.log2(1 + FULL);
  return 6 + Math.min(1, share) * (ROW - 9);
}

/** @param {CanvasRenderingContext2D} context @param {Step[]} steps @param {ReturnType<typeof colours>} palette */
function drawAxis(context, steps, palette) {
  context.fillStyle = palette.quiet;
  context.textAlign = 'left';
  for (const [i, { index }] of steps.entries()) {
    if (i % 20 === 0) context.fillText(String(index), LABEL + i * COLUMN, ROWS * ROW + AXIS - 3);
  }
}

/** In words: of the picture for who cannot see it, of the step that is looked at for everyone. @param {EngineState} state @param {Step[]} steps @param {number[]} rows */
function describe({ steps: all, isIdle }, steps, rows) {
  const last = all.at(-1);
  const step = steps.at(-1);
  slider.disabled = last === undefined;
  slider.min = String(all[0]?.index ?? 0);
  slider.max = String(last?.index ?? 0);
  slider.value = heldAt === undefined ? slider.max : String(heldAt);
  if (last === undefined || step === undefined) {
    heldAt = undefined;
    canvas.ariaLabel = 'No step yet';
    detail.textContent = legend;
    return;
  }
  canvas.ariaLabel = `Steps ${steps[0]?.index} to ${step.index}, sequences ${rows.map((row) => `#${row}`).join(' ')}`;
  if (heldAt === undefined && !isIdle) detail.textContent = legend;
  else detail.textContent = `Step ${step.index}: ${step.rows.map(inWords).join(', ') || 'preemption only'}.`;
}

/** @param {Step['rows'][number]} row */
function inWords([sequence, kind, tokens, drafted, accepted]) {
  const draft = drafted > 0 ? ` and ${drafted} drafted, ${accepted} accepted` : '';
  return `#${sequence} ${kind} ${tokens}${draft}`;
}
