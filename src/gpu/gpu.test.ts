import { expect, it } from 'vitest';
import { describeOnGpu } from '../../test/support/gpu.ts';
import { collectGarbage } from '../../test/support/memory.ts';
import { problemError, relativeError } from './compare.ts';
import { measure } from './measure.ts';
import { gpuOrReason, openGpu } from './open-gpu.ts';

const doubled = /* wgsl */ `
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(4)
fn main(@builtin(global_invocation_id) id: vec3u) { y[id.x] = 2 * x[id.x]; }`;
const kernel = { name: 'doubled', code: doubled, workgroups: [2] } as const;

describeOnGpu('a GPU', (gpu) => {
  it('runs a kernel and tells its time', async () => {
    const y = gpu.allocate(8 * 4);
    const dispatch = await gpu.prepare(kernel, [gpu.upload(Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8)), y]);
    await gpu.run(dispatch);
    expect([...(await gpu.read(y, Float32Array))]).toEqual([2, 4, 6, 8, 10, 12, 14, 16]);
    const { ms, quartiles, repeats } = await measure(gpu, [dispatch], { repeats: 3, sampleMs: 1 });
    expect(quartiles[0]).toBeLessThanOrEqual(ms);
    expect(ms).toBeLessThanOrEqual(quartiles[1]);
    expect(repeats).toBe(3);
  });

  it('uploads what is not whole words', async () => {
    expect([...(await gpu.read(gpu.upload(Uint16Array.of(1, 2, 3)), Uint16Array))]).toEqual([1, 2, 3, 0]);
  });

  it('says where a kernel is wrong', async () => {
    const wrong = { ...kernel, code: doubled.replace('2 * x[id.x]', '2u * x[id.x]') };
    await expect(gpu.prepare(wrong, [])).rejects.toMatchObject({
      code: 'RXLLM_KERNEL_INVALID',
      message: expect.stringMatching(/^doubled: .* in line 5: fn main/),
    });
  });

  it('says what does not fit, and goes on', async () => {
    const x = gpu.upload(Float32Array.of(1));
    await expect(gpu.prepare(kernel, [x])).rejects.toMatchObject({ code: 'RXLLM_KERNEL_INVALID' });
    const tooMany = await gpu.prepare({ ...kernel, workgroups: [70_000] }, [x, gpu.allocate(4)]);
    await expect(gpu.run(tooMany)).rejects.toMatchObject({ code: 'RXLLM_GPU_FAILED' });
    expect(() => gpu.allocate(2 ** 45)).toThrow(/a buffer of 35184372088832 bytes/);
    await gpu.run(await gpu.prepare(kernel, [x, gpu.allocate(4)]));
  });

  it('says what a call throws, and leaves no scope of errors open', async () => {
    await expect(gpu.prepare(kernel, [{} as GPUBuffer])).rejects.toMatchObject({ code: 'RXLLM_KERNEL_INVALID' });
    await expect(gpu.device.popErrorScope()).rejects.toThrow();
  });

  it('can be opened again, and is not found by a name that no adapter has', async () => {
    const other = await openGpu();
    other.close();
    expect(await gpuOrReason({ adapter: 'abacus' })).toMatch(/no adapter is called "abacus"/);
  });

  it('outlives the collection of what was closed', async () => {
    for (let i = 0; i < 4; i++) {
      (await openGpu()).close();
      collectGarbage();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await gpu.read(gpu.upload(Float32Array.of(1)), Float32Array)).toEqual(Float32Array.of(1));
  });
});

it('an error is relative to the largest value, and NaN is one', () => {
  expect(relativeError([1, 2.1], [1, 2])).toBeCloseTo(0.05);
  expect(relativeError([1, Number.NaN], [1, 2])).toBeNaN();
  expect(relativeError([1], [1, 2])).toBeNaN();
});

it('compares the first row, the last, and some between', () => {
  const asked: number[] = [];
  const expected = (row: number) => {
    asked.push(row);
    return Float64Array.of(row, 2 * row);
  };
  const problem = { inputs: [], rows: 5, columns: 2, expected };
  const found = Float32Array.from({ length: 10 }, (_, i) => (i >> 1) * (1 + (i & 1)));
  expect(problemError(problem, found, 3)).toBe(0);
  expect(asked).toEqual([0, 2, 4]);
  found[2] = 5;
  expect(problemError(problem, found, 3)).toBe(0);
  expect(problemError(problem, found)).toBeCloseTo(0.5);
});
