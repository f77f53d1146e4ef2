/** A batch that stays against one that is planned anew, on two loads, and their timelines on the same arrivals. */
import { writeFileSync } from 'node:fs';
import { continuous, staticBatch } from 'rxllm';
import { args } from '../support/args.ts';
import { compareOnWorkloads } from '../support/compare-on-workloads.ts';
import { writeMeasured } from '../support/measured.ts';
import { markdownTable } from '../support/table.ts';
import { ROWS, timelineOf } from '../support/timeline.ts';
import { timelinePicture } from '../support/timeline-picture.ts';

const timelines = [await timelineOf(staticBatch), await timelineOf(continuous)];
const longest = Math.max(...timelines.map(({ steps }) => steps));
for (const timeline of args.quick ? [] : timelines) {
  const svg = timelinePicture(`${timeline.name}: ${timeline.steps} steps`, timeline, longest);
  writeFileSync(new URL(`${timeline.name}.svg`, import.meta.url), svg);
}
const rows = timelines.map(({ name, steps, used, lost }) => [`\`${name}\``, steps, (used / steps).toFixed(2), lost]);
writeMeasured(
  import.meta.url,
  `${markdownTable(['engine', 'steps', `of ${ROWS} rows used a step`, 'rows of padding while others waited'], rows)}

${await compareOnWorkloads([staticBatch.name, continuous.name])}`,
);
