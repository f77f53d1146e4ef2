import ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { OnnxBuilder } from './onnx-builder.ts';
import { decodeModel } from './onnx-schema.ts';

describe('OnnxBuilder', () => {
  it('writes what ONNX Runtime reads', async () => {
    const g = new OnnxBuilder();
    const x = g.input('x', 'float32', ['rows', 2]);
    const w = g.tensor('w', [3, 2], Float32Array.of(1, 2, 3, 4, 5, 6));
    const y = g.op('Gemm', [x, w], { transB: 1, alpha: { float: 1 } });
    g.op('Softmax', [g.op('Add', [y, g.float32(0.5)])], { axis: -1 });
    g.op('Reshape', [y, g.int64([-1])], {}, 'flat');
    g.output('flat', 'float32', ['cells']);
    const session = await ort.InferenceSession.create(g.build('test'), { intraOpNumThreads: 1 });
    const { flat } = await session.run({ x: new ort.Tensor('float32', [1, 1, 2, -1], [2, 2]) });
    expect([...(flat!.data as Float32Array)]).toEqual([3, 7, 11, 0, 2, 4]);
    await session.release();
  });

  it('writes loops, one in another, that carry and collect', async () => {
    const g = new OnnxBuilder();
    const x = g.input('x', 'float32', [2]);
    const trips = g.input('trips', 'int64', []);
    const [sum, steps] = g.loop(trips, [x], (turn, sum) => {
      const [grown] = g.loop(turn, [sum!], (_, inner) => ({ state: [g.op('Add', [inner!, g.float32(1)])] }));
      return { state: [g.op('Add', [grown!, x])], collected: [grown!] };
    });
    for (const edge of [sum!, steps!]) g.output(edge, 'float32');
    const session = await ort.InferenceSession.create(g.build('test'), { intraOpNumThreads: 1 });
    const feeds = { x: new ort.Tensor('float32', [1, 10], [2]) };
    const three = await session.run({ ...feeds, trips: new ort.Tensor('int64', [3n], []) });
    expect([...(three[sum!]!.data as Float32Array)]).toEqual([7, 43]);
    expect(three[steps!]!.dims).toEqual([3, 2]);
    expect([...(three[steps!]!.data as Float32Array)]).toEqual([1, 10, 3, 21, 6, 33]);
    const none = await session.run({ ...feeds, trips: new ort.Tensor('int64', [0n], []) });
    expect([...(none[sum!]!.data as Float32Array)]).toEqual([1, 10]);
    await session.release();
  });

  it('stores equal constants once, and tells a scalar from a vector', () => {
    const g = new OnnxBuilder();
    expect(g.int64([1, 2])).toBe(g.int64([1, 2]));
    expect(g.int64(1)).not.toBe(g.int64([1]));
    expect(g.float32(1)).not.toBe(g.int64(1));
    expect(decodeModel(g.build('test')).graph.initializer.map((tensor) => tensor.dims)).toEqual([[2], [], [1], []]);
  });

  it('leaves external data in its file', () => {
    const g = new OnnxBuilder();
    g.external('w', 'bfloat16', [4, 8], { file: 'model.safetensors', offset: 4_294_967_300, length: 64 });
    expect(decodeModel(g.build('test')).graph.initializer).toEqual([
      {
        name: 'w',
        dims: [4, 8],
        dataType: 16,
        dataLocation: 1,
        externalData: [
          { key: 'location', value: 'model.safetensors' },
          { key: 'offset', value: '4294967300' },
          { key: 'length', value: '64' },
        ],
      },
    ]);
  });

  it('keeps attributes apart by type', () => {
    const g = new OnnxBuilder();
    g.microsoftOp('Thing', ['', 'a'], { axis: -1, scale: { float: 1 }, perm: [0, 2, 1] });
    const [node] = decodeModel(g.build('test')).graph.node;
    expect(node).toMatchObject({ domain: 'com.microsoft', opType: 'Thing', input: ['', 'a'] });
    expect(node!.attribute).toEqual([
      { name: 'axis', type: 2, i: -1, ints: [] },
      { name: 'scale', type: 1, f: 1, ints: [] },
      { name: 'perm', type: 7, ints: [0, 2, 1] },
    ]);
  });
});
