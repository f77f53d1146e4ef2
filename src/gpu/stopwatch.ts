/** Milliseconds that a compute pass takes, which `encode` fills and ends. */
export async function stopwatch(device: GPUDevice, encode: (pass: GPUComputePassEncoder) => void): Promise<number> {
  return device.features.has('timestamp-query') ? byTimestamps(device, encode) : byHost(device, encode);
}

const TIMESTAMPS = 2;
const BYTES = TIMESTAMPS * BigUint64Array.BYTES_PER_ELEMENT;

async function byTimestamps(device: GPUDevice, encode: (pass: GPUComputePassEncoder) => void): Promise<number> {
  const querySet = device.createQuerySet({ type: 'timestamp', count: TIMESTAMPS });
  const resolved = device.createBuffer({ size: BYTES, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
  const host = device.createBuffer({ size: BYTES, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  try {
    const encoder = device.createCommandEncoder();
    const timestampWrites = { querySet, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 };
    encode(encoder.beginComputePass({ timestampWrites }));
    encoder.resolveQuerySet(querySet, 0, TIMESTAMPS, resolved, 0);
    encoder.copyBufferToBuffer(resolved, 0, host, 0, BYTES);
    device.queue.submit([encoder.finish()]);
    await host.mapAsync(GPUMapMode.READ);
    const [begin, end] = new BigUint64Array(host.getMappedRange().slice(0)) as unknown as [bigint, bigint];
    return Number(end - begin) / 1e6;
  } finally {
    for (const used of [host, resolved, querySet]) used.destroy();
  }
}

/** With the time to submit and to be told. */
async function byHost(device: GPUDevice, encode: (pass: GPUComputePassEncoder) => void): Promise<number> {
  const encoder = device.createCommandEncoder();
  encode(encoder.beginComputePass());
  const commands = encoder.finish();
  const begin = performance.now();
  device.queue.submit([commands]);
  await device.queue.onSubmittedWorkDone();
  return performance.now() - begin;
}
