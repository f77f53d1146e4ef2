/** WGSL whose shapes and tile sizes are written into it as constants, so that its compiler knows every trip count. */
export interface Kernel {
  readonly name: string;
  /** Its entry point is `main`; its buffers are bindings 0, 1, 2, … of group 0. */
  readonly code: string;
  /** Workgroups in x, y and z. */
  readonly workgroups: readonly [x: number, y?: number, z?: number];
}

/** A kernel bound to its buffers. */
export interface Dispatch {
  readonly kernel: Kernel;
  readonly pipeline: GPUComputePipeline;
  readonly buffers: readonly GPUBuffer[];
  readonly bindings: GPUBindGroup;
}
