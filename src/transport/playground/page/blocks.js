import { prepare } from './canvas.js';
import { colours } from './colours.js';
import { byId } from './dom.js';

/** @typedef {import('./engine-state.js').EngineState} EngineState */

const canvas = byId('blocks', HTMLCanvasElement);
const used = byId('blocks-used', HTMLElement);
const none = byId('blocks-none', HTMLParagraphElement);
const legend = byId('blocks-legend', HTMLUListElement);

const HEIGHT = 200;
const LARGEST = 16;
const REGION = 18;

/** The pool, a square a block; or, where a sequence has one long region, a bar each. @param {EngineState} state */
export function drawBlocks(state) {
  const kv = state.engine?.kv;
  const layout = kv?.layout ?? 'none';
  none.hidden = kv === undefined || layout !== 'none';
  canvas.hidden = layout === 'none';
  legend.setAttribute('data-layout', layout);
  if (kv === undefined || layout === 'none') {
    used.textContent = '';
    return;
  }
  if (layout === 'paged') drawSquares(state, kv.blocks);
  else drawRegions(state, kv);
  const { held, shared, cached } = count(state);
  if (layout === 'paged') {
    used.textContent = `${held} of ${kv.blocks - 1} held`;
    canvas.ariaLabel = `${held} KV blocks held, ${shared} of them shared; ${cached} free that can be found again`;
  } else {
    used.textContent = `${held} of ${kv.blocks} regions of ${kv.block_size} tokens held`;
    canvas.ariaLabel = used.textContent;
  }
}

/** @param {EngineState} state @param {number} blocks */
function drawSquares({ blocks: states }, blocks) {
  const size = sizeThatFits(canvas.clientWidth, blocks);
  const columns = Math.floor(canvas.clientWidth / size);
  const { context } = prepare(canvas, Math.ceil(blocks / columns) * size);
  const palette = colours();
  const side = size - (size > 5 ? 2 : 1);
  for (let block = 0; block < blocks; block++) {
    const x = (block % columns) * size;
    const y = Math.floor(block / columns) * size;
    const state = block === 0 ? 'trash' : (states.get(block) ?? 'free');
    context.fillStyle = Array.isArray(state) ? palette.of(state[0]) : palette.free;
    context.fillRect(x, y, side, side);
    if (state === 'trash') {
      context.fillStyle = palette.quiet;
      context.fillRect(x, y, side, side);
    } else if (state === 'cached') {
      const inner = Math.max(2, Math.round(side * 0.45));
      context.fillStyle = palette.quiet;
      context.fillRect(x + (side - inner) / 2, y + (side - inner) / 2, inner, inner);
    } else if (Array.isArray(state) && state.length > 1) {
      drawShared(context, x, y, side, palette.of(state[1]), palette.text);
    }
  }
}

/**
 * The second holder's colour in the other half, and a frame.
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} side
 * @param {string} colour
 * @param {string} frame
 */
function drawShared(context, x, y, side, colour, frame) {
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(x + side, y);
  context.lineTo(x + side, y + side);
  context.lineTo(x, y + side);
  context.fill();
  context.strokeStyle = frame;
  context.strokeRect(x + 0.5, y + 0.5, side - 1, side - 1);
}

/** @param {EngineState} state @param {{ blocks: number, block_size: number }} kv */
function drawRegions({ blocks: states, frame }, { blocks, block_size }) {
  const { context, width } = prepare(canvas, blocks * REGION);
  const palette = colours();
  const sequences = new Map((frame?.running ?? []).map((sequence) => [sequence.sequence, sequence]));
  for (let block = 0; block < blocks; block++) {
    const state = states.get(block);
    const holder = Array.isArray(state) ? sequences.get(state[0]) : undefined;
    const y = block * REGION;
    context.fillStyle = palette.free;
    context.fillRect(0, y, width, REGION - 3);
    if (holder === undefined) continue;
    context.fillStyle = palette.of(holder.sequence);
    context.globalAlpha = 0.25;
    context.fillRect(0, y, width, REGION - 3);
    context.globalAlpha = 1;
    context.fillRect(0, y, (width * holder.computed) / block_size, REGION - 3);
  }
}

/** The largest squares that fit into the picture. @param {number} width @param {number} blocks */
function sizeThatFits(width, blocks) {
  let size = LARGEST;
  while (size > 4 && Math.ceil(blocks / Math.floor(width / size)) * size > HEIGHT) size--;
  return size;
}

/** @param {EngineState} state */
function count({ blocks }) {
  const states = [...blocks.values()];
  const held = states.filter((state) => Array.isArray(state));
  return {
    held: held.length,
    shared: held.filter((holders) => holders.length > 1).length,
    cached: states.length - held.length,
  };
}
