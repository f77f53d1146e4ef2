import { expect, it } from 'vitest';
import type { Gpu } from './gpu.ts';
import { prepare, type Solution } from './solution.ts';

const problem = { inputs: [Float32Array.of(1), Float32Array.of(2)], rows: 1, columns: 1 };

/** A GPU whose buffers tell whether they are destroyed; from the `room`th on there is no room for one. */
function fakeGpu(room = Number.POSITIVE_INFINITY) {
  const destroyed: boolean[] = [];
  const allocate = () => {
    if (destroyed.length >= room) throw new Error('no room');
    const index = destroyed.push(false) - 1;
    return { destroy: () => (destroyed[index] = true) };
  };
  return { destroyed, gpu: { upload: allocate, allocate } as unknown as Gpu };
}

const twoBetween: Solution = async (_gpu, _inputs, _output, allocate) => {
  allocate(4);
  allocate(8);
  return [];
};

it('destroys inputs, output and what is between when it is disposed of', async () => {
  const { gpu, destroyed } = fakeGpu();
  const prepared = await prepare(gpu, problem, twoBetween);
  expect(destroyed).toEqual([false, false, false, false, false]);
  prepared[Symbol.dispose]();
  expect(destroyed).toEqual([true, true, true, true, true]);
});

it.each([1, 2, 4])('leaves nothing where there is room for %i buffers only', async (room) => {
  const { gpu, destroyed } = fakeGpu(room);
  await expect(prepare(gpu, problem, twoBetween)).rejects.toThrow('no room');
  expect(destroyed).toEqual(Array(room).fill(true));
});

it('leaves nothing where a kernel does not compile', async () => {
  const { gpu, destroyed } = fakeGpu();
  const fails: Solution = async (...given) => {
    await twoBetween(...given);
    throw new Error('invalid');
  };
  await expect(prepare(gpu, problem, fails)).rejects.toThrow('invalid');
  expect(destroyed).toEqual([true, true, true, true, true]);
});
