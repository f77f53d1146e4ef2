/** What this machine can do at most: bytes by a large copy, FLOPs by a large matrix product, and where the two roofs meet. */

import { profiling } from 'rxllm';
import { KERNELS, measureCeilings, roofsFor } from 'rxllm/bench';
import { args } from '../support/args.ts';
import { textTable } from '../support/table.ts';

/** The embedded model's weights in float32. */
const WEIGHT_BYTES = 63e6;
const quick = { copyBytes: 2 ** 22, side: 64, rounds: 2 };
const ceilings = await measureCeilings({ cachedBytes: WEIGHT_BYTES, ...(args.quick && quick) });

const giga = (value: number) => Number((value / 1e9).toFixed(1));
console.log(`${ceilings.threads} threads\n`);
console.log(`a copy that no cache holds     ${giga(ceilings.memory)} GB/s, read and written`);
console.log(`a copy over ${WEIGHT_BYTES / 1e6} MB             ${giga(ceilings.cached)} GB/s\n`);

const rows = KERNELS.map((kernel) => {
  const roofs = roofsFor(ceilings, kernel);
  return [kernel, giga(roofs.flopsPerS), Number(profiling.ridge(roofs).toFixed(1))];
});
console.log(textTable(['matrix product', 'GFLOP/s', 'ridge, FLOPs a byte'], rows));
console.log('\nWork with fewer FLOPs a byte than the ridge waits for memory, whatever its kernel does.');
