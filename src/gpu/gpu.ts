/// <reference types="@webgpu/types" />
import { RxllmError } from '../core/errors.ts';
import { compile } from './compile.ts';
import { ErrorScope } from './error-scope.ts';
import type { Dispatch, Kernel } from './kernel.ts';
import { stopwatch } from './stopwatch.ts';

export type TypedArray = Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer> | Uint16Array<ArrayBuffer>;

interface TypedArrayOf<T> {
  new (buffer: ArrayBuffer): T;
}

/** Uploads go in pieces, for each is staged. */
const PIECE = 64 * 2 ** 20;

/** A device for kernels: buffers, dispatches, times. What goes wrong on it comes out of the next call that is awaited. */
export class Gpu {
  readonly device: GPUDevice;
  readonly info: GPUAdapterInfo;
  /** Lanes of a subgroup at least; 1 where a kernel cannot use them. */
  readonly subgroupSize: number;
  private readonly errors: ErrorScope;

  constructor(info: GPUAdapterInfo, device: GPUDevice) {
    this.info = info;
    this.device = device;
    this.subgroupSize = device.features.has('subgroups') ? (info.subgroupMinSize ?? 1) : 1;
    this.errors = new ErrorScope(device);
  }

  /** A CPU plays the GPU: right results, meaningless times. */
  get isSoftware(): boolean {
    return this.info.isFallbackAdapter;
  }

  /** Zeros. @throws RxllmError `RXLLM_GPU_FAILED` where a buffer cannot be as large */
  allocate(bytes: number): GPUBuffer {
    const { maxBufferSize, maxStorageBufferBindingSize } = this.device.limits;
    const largest = Math.min(maxBufferSize, maxStorageBufferBindingSize);
    if (bytes > largest) {
      throw new RxllmError('RXLLM_GPU_FAILED', `a buffer of ${bytes} bytes; ${this.info.description} takes ${largest}`);
    }
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    return this.device.createBuffer({ size: Math.max(4, Math.ceil(bytes / 4) * 4), usage });
  }

  upload(data: TypedArray): GPUBuffer {
    const whole = data.byteLength % 4 === 0 ? data : padded(data);
    const buffer = this.allocate(whole.byteLength);
    for (let at = 0; at < whole.byteLength; at += PIECE) {
      const bytes = Math.min(PIECE, whole.byteLength - at);
      // As an ArrayBuffer: dawn.node copies a typed array element by element.
      this.device.queue.writeBuffer(buffer, at, whole.buffer, whole.byteOffset + at, bytes);
    }
    return buffer;
  }

  /** Compiles. @throws RxllmError `RXLLM_KERNEL_INVALID` with the compiler's words, or where the buffers do not fit */
  async prepare(kernel: Kernel, buffers: readonly GPUBuffer[]): Promise<Dispatch> {
    const pipeline = await compile(this.device, kernel);
    const bindings = await this.errors.within('RXLLM_KERNEL_INVALID', kernel.name, () =>
      this.device.createBindGroup({
        layout: pipeline.getBindGroupLayout(0),
        entries: buffers.map((buffer, binding) => ({ binding, resource: { buffer } })),
      }),
    );
    return { kernel, pipeline, buffers, bindings };
  }

  /** One after the other, and waits for their end. @throws RxllmError `RXLLM_GPU_FAILED` */
  async run(...dispatches: readonly Dispatch[]): Promise<void> {
    await this.errors.within('RXLLM_GPU_FAILED', namesOf(dispatches), () => {
      const encoder = this.device.createCommandEncoder();
      encode(encoder.beginComputePass(), dispatches, 1);
      this.device.queue.submit([encoder.finish()]);
      return this.device.queue.onSubmittedWorkDone();
    });
  }

  /** Milliseconds for all dispatches once, of `times` in a row: by the GPU's clock, or the host's where it has none. */
  time(dispatches: readonly Dispatch[], times = 1): Promise<number> {
    return this.errors.within('RXLLM_GPU_FAILED', namesOf(dispatches), async () => {
      const elapsed = await stopwatch(this.device, (pass) => encode(pass, dispatches, times));
      return elapsed / times;
    });
  }

  async read<T>(buffer: GPUBuffer, type: TypedArrayOf<T>): Promise<T> {
    return this.errors.within('RXLLM_GPU_FAILED', 'reading a buffer', async () => {
      const { size } = buffer;
      const host = this.device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
      try {
        const encoder = this.device.createCommandEncoder();
        encoder.copyBufferToBuffer(buffer, 0, host, 0, size);
        this.device.queue.submit([encoder.finish()]);
        await host.mapAsync(GPUMapMode.READ);
        return new type(host.getMappedRange().slice(0));
      } finally {
        host.destroy();
      }
    });
  }

  close(): void {
    this.device.destroy();
  }
}

function encode(pass: GPUComputePassEncoder, dispatches: readonly Dispatch[], times: number): void {
  for (let i = 0; i < times; i++) {
    for (const { kernel, pipeline, bindings } of dispatches) {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, bindings);
      pass.dispatchWorkgroups(...kernel.workgroups);
    }
  }
  pass.end();
}

const namesOf = (dispatches: readonly Dispatch[]) => dispatches.map(({ kernel }) => kernel.name).join(', ');

function padded(data: TypedArray): Uint32Array<ArrayBuffer> {
  const whole = new Uint32Array(Math.ceil(data.byteLength / 4));
  new Uint8Array(whole.buffer).set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  return whole;
}
