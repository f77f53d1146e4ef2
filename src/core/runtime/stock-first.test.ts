import ort from 'onnxruntime-node';
import { expect, it } from 'vitest';
import { OnnxBuilder } from '../graph/onnx-builder.ts';
import { ortCApi } from './ort-c-api.ts';
import { maySpin, threadCount } from './thread-count.ts';

it('makes sessions with threads of their own where the stock binding made the environment', async () => {
  const g = new OnnxBuilder();
  g.op('Identity', [g.input('x', 'float32', [1])], {}, 'y');
  g.output('y', 'float32', [1]);
  const model = g.build('test');
  const stock = await ort.InferenceSession.create(model);
  const api = ortCApi();
  const session = await api.createSession(model, {
    threads: threadCount(undefined),
    spin: maySpin(undefined),
    weightsDirectory: '.',
  });
  const binding = api.createBinding(session);
  const [x, y] = [Float32Array.of(3), new Float32Array(1)];
  const tensors = [x, y].map((data) => api.createTensor(data, 'float32', [1]));
  api.bindInput(binding, 'x', tensors[0]!);
  api.bindOutput(binding, 'y', tensors[1]!);
  api.run(session, binding);
  expect(y[0]).toBe(3);
  api.releaseBinding(binding);
  for (const tensor of tensors) api.releaseTensor(tensor);
  api.releaseSession(session);
  await stock.release();
});
