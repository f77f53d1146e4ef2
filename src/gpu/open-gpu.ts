/// <reference types="@webgpu/types" />
import { RxllmError } from '../core/errors.ts';
import { Gpu } from './gpu.ts';

export interface GpuOptions {
  /** Part of an adapter's name; default: `RXLLM_GPU`, else the fastest there is, which may be a CPU that plays one. */
  readonly adapter?: string | undefined;
}

const FEATURES: readonly GPUFeatureName[] = ['subgroups', 'shader-f16', 'timestamp-query'];

/** A device's defaults are small: it gets what the adapter has. */
const LIMITS = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxStorageBuffersPerShaderStage',
  'maxComputeWorkgroupStorageSize',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX',
] as const;

/** By the adapter's name, for good: the process dies when an instance is collected, even where its devices are closed. */
const instances = new Map<string, GPU>();

/** @throws RxllmError `RXLLM_GPU_UNAVAILABLE` with the reason: no `webgpu` package, no driver, or none of that name */
export async function openGpu({ adapter: name = process.env['RXLLM_GPU'] }: GpuOptions = {}): Promise<Gpu> {
  const { create, globals } = await import('webgpu').catch((cause: unknown) => {
    const message = 'the optional package webgpu is not installed or does not load; npm install webgpu brings it';
    throw new RxllmError('RXLLM_GPU_UNAVAILABLE', message, { cause });
  });
  // GPUBufferUsage and its like.
  Object.assign(globalThis, globals);
  const options = [
    'enable-dawn-features=allow_unsafe_apis,vulkan_enable_f16_on_nvidia',
    'disable-dawn-features=timestamp_quantization',
    ...(name ? [`adapter=${name}`] : []),
  ];
  const instance = instances.get(name ?? '') ?? create(options);
  instances.set(name ?? '', instance);
  const adapter = await instance.requestAdapter({ powerPreference: 'high-performance' }).catch(() => null);
  if (adapter === null) {
    const which = name ? `no adapter is called "${name}" (option adapter, or RXLLM_GPU)` : 'there is no adapter';
    const drivers =
      'a GPU needs its Vulkan driver; Mesa 25 plays one on the CPU (Debian has it as mesa-vulkan-drivers)';
    throw new RxllmError('RXLLM_GPU_UNAVAILABLE', `${which}; ${drivers}`);
  }
  const device = await adapter.requestDevice({
    requiredFeatures: FEATURES.filter((feature) => adapter.features.has(feature)),
    requiredLimits: Object.fromEntries(LIMITS.map((limit) => [limit, adapter.limits[limit]])),
  });
  return new Gpu(adapter.info, device);
}

/** A GPU, or in words why there is none. */
export async function gpuOrReason(options?: GpuOptions): Promise<Gpu | string> {
  try {
    return await openGpu(options);
  } catch (error) {
    if (error instanceof RxllmError && error.code === 'RXLLM_GPU_UNAVAILABLE') return error.message;
    throw error;
  }
}
