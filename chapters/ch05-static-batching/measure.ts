/** One at a time against a batch, on two loads, and the timeline. */
import { writeFileSync } from 'node:fs';
import { kvCache, staticBatch } from 'rxllm';
import { args } from '../support/args.ts';
import { compareOnWorkloads } from '../support/compare-on-workloads.ts';
import { writeMeasured } from '../support/measured.ts';
import { ROWS, timelineOf } from '../support/timeline.ts';
import { timelinePicture } from '../support/timeline-picture.ts';

const timeline = await timelineOf(staticBatch);
const { steps, used, lost } = timeline;
if (!args.quick) {
  const svg = timelinePicture(`Twelve requests on ${ROWS} rows, in steps`, timeline);
  writeFileSync(new URL('timeline.svg', import.meta.url), svg);
}
writeMeasured(
  import.meta.url,
  `The picture: ${steps} steps, ${(used / steps).toFixed(2)} of ${ROWS} rows used in each; ${lost} rows were padding while others waited.

${await compareOnWorkloads([kvCache.name, staticBatch.name])}`,
);
