/** Chapter 5's twelve requests on the same four rows, planned anew each step. */
import { continuous, staticBatch } from 'rxllm';
import { args, size } from '../support/args.ts';
import { textTable } from '../support/table.ts';
import { ARRIVALS, ROWS, timelineOf, timelineText } from '../support/timeline.ts';

const arrivals = ARRIVALS.slice(0, size(ARRIVALS.length, 8));
console.log(`${args.model.split('/').at(-1)}, ${ROWS} rows; a column is a step`);
const rows: (string | number)[][] = [];
for (const recipe of [staticBatch, continuous]) {
  const timeline = await timelineOf(recipe, arrivals);
  console.log(`\n${timeline.name}\n${timelineText(timeline)}`);
  const { name, steps, used, lost, cells } = timeline;
  const waits = cells.map((row) => row.filter((cell) => cell === 'waits').length);
  const meanWait = waits.reduce((sum, wait) => sum + wait, 0) / waits.length;
  rows.push([name, steps, Number((used / steps).toFixed(2)), lost, Number(meanWait.toFixed(1))]);
}
console.log(
  `\n${textTable(['engine', 'steps', 'rows used a step', 'rows of padding while others wait', 'mean wait'], rows)}`,
);
const [before, after] = rows.map(([, steps]) => steps as number) as [number, number];
console.log(`\n${(before / after).toFixed(2)} times fewer steps; none of them does more than one of chapter 5 could.`);
