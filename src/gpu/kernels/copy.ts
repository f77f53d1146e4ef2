import type { Kernel } from '../kernel.ts';

const THREADS = 256;
const MOST_WORKGROUPS = 65535;

/** y = x, both `[quads × 4]`: what the memory gives at best, the ceiling of a kernel that computes little. Buffers: x, y. */
export function copy({ quads }: { readonly quads: number }): Kernel {
  const workgroups = Math.min(MOST_WORKGROUPS, Math.ceil(quads / THREADS));
  return {
    name: 'copy',
    workgroups: [workgroups],
    code: /* wgsl */ `
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(${THREADS})
fn main(@builtin(global_invocation_id) id: vec3u) {
  for (var i = id.x; i < ${quads}u; i += ${workgroups * THREADS}u) { y[i] = x[i]; }
}`,
  };
}
