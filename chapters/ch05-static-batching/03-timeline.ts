/** Twelve requests on four rows: who has a row in which step, which rows are padding, and who waits for them. */
import { staticBatch } from 'rxllm';
import { args, size } from '../support/args.ts';
import { ARRIVALS, ROWS, timelineOf, timelineText } from '../support/timeline.ts';

const arrivals = ARRIVALS.slice(0, size(ARRIVALS.length, 8));
const timeline = await timelineOf(staticBatch, arrivals);
console.log(`${timeline.name} on ${args.model.split('/').at(-1)}, ${ROWS} rows; a column is a step\n`);
console.log(timelineText(timeline));

const { steps, used, lost } = timeline;
const asked = arrivals.reduce((sum, { output }) => sum + output, 0);
console.log(`\n${steps} steps for ${asked} tokens: ${(used / steps).toFixed(2)} of ${ROWS} rows used a step`);
console.log(`${lost} rows were padding while others waited, ${((100 * lost) / (steps * ROWS)).toFixed(0)}% of all`);

/** Steps that each request waited for a row, next to the steps that it then ran. */
timeline.cells.forEach((row, index) => {
  const waited = row.filter((cell) => cell === 'waits').length;
  const ran = row.filter((cell) => cell === 'prompt' || cell === 'decodes').length;
  if (waited > ran) console.log(`request ${index} waited ${waited} steps to run ${ran}`);
});
const longest = Math.max(...arrivals.slice(0, ROWS).map(({ output }) => output));
console.log(`The first batch ends after ${longest} steps, with its longest; its shortest was done after 4.`);
