import { RxllmError } from '../errors.ts';
import { OnnxBuilder } from '../graph/onnx-builder.ts';
import type { Handle, OrtCApi, TensorData, TensorDtype } from './ort-c-api.ts';
import { ORT_VERSION } from './ort-library.ts';

const HEAD = 16;
const REGION = 4;

/**
 * Runs a tiny graph over the C API and compares what comes out with known numbers: the version, bindings, ScatterND and
 * GroupQueryAttention writing into their inputs' memory, and a run on another thread.
 * @throws RxllmError `RXLLM_RUNTIME_UNAVAILABLE` naming the piece that does not work
 */
export async function selfCheck(api: OrtCApi): Promise<void> {
  if (api.version !== ORT_VERSION) {
    throw unavailable(
      `ONNX Runtime is ${api.version} and ${ORT_VERSION} is needed; install onnxruntime-node ${ORT_VERSION}`,
    );
  }
  const options = { threads: 1, spin: false, weightsDirectory: '.' };
  const session = await api.createSession(tinyGraph(), options);
  const binding = api.createBinding(session);
  // With their data: nothing else holds on to it, and the runs read it.
  const tensors: { readonly tensor: Handle; readonly data: TensorData }[] = [];
  const bind = <T extends TensorData>(data: T, dtype: TensorDtype, shape: readonly number[], ...names: string[]): T => {
    const tensor = api.createTensor(data, dtype, shape);
    tensors.push({ tensor, data });
    const [input, output] = names;
    if (input) api.bindInput(binding, input, tensor);
    if (output) api.bindOutput(binding, output, tensor);
    return data;
  };
  try {
    const pool = bind(Float32Array.of(1, 2, 3, 4), 'float32', [2, 2], 'pool', 'pool_out');
    const slot = bind(Int32Array.of(1, 0), 'int64', [1, 1], 'slot');
    bind(Float32Array.of(7, 8), 'float32', [1, 2], 'update');
    const qkv = bind(new Float32Array(3 * HEAD), 'float32', [1, 1, 3 * HEAD], 'qkv');
    const region = [1, 1, REGION, HEAD];
    bind(new Float32Array(REGION * HEAD), 'float32', region, 'keys', 'keys_out');
    const values = bind(new Float32Array(REGION * HEAD), 'float32', region, 'values', 'values_out');
    const lastPosition = bind(Int32Array.of(0), 'int32', [1], 'last_position');
    const totalLength = bind(Int32Array.of(1), 'int32', [1], 'total_length');
    const attended = bind(new Float32Array(HEAD), 'float32', [1, 1, HEAD], '', 'attended');

    // The queries are 0, so that every key has the same weight and attention gives the mean of the values.
    qkv.fill(3, 2 * HEAD);
    api.run(session, binding);
    expectEqual('ScatterND in place', pool, [1, 2, 7, 8]);
    expectEqual('GroupQueryAttention', attended, Array(HEAD).fill(3));

    slot[0] = 0;
    qkv.fill(5, 2 * HEAD);
    lastPosition[0] = 1;
    totalLength[0] = 2;
    await api.runAsync(session, binding);
    expectEqual('an asynchronous run', pool, [7, 8, 7, 8]);
    expectEqual('GroupQueryAttention over its past', attended, Array(HEAD).fill(4));
    const written = [...Array(HEAD).fill(3), ...Array(HEAD).fill(5), ...Array(2 * HEAD).fill(0)];
    expectEqual('GroupQueryAttention in place', values, written);
  } finally {
    api.releaseBinding(binding);
    for (const { tensor } of tensors) api.releaseTensor(tensor);
    api.releaseSession(session);
  }
}

function tinyGraph(): Uint8Array {
  const g = new OnnxBuilder();
  const pool = g.input('pool', 'float32', [2, 2]);
  const slot = g.input('slot', 'int64', [1, 1]);
  g.op('ScatterND', [pool, slot, g.input('update', 'float32', [1, 2])], {}, 'pool_out');
  g.output('pool_out', 'float32', [2, 2]);

  const table = Float32Array.from({ length: (REGION * HEAD) / 2 }, (_, i) => Math.cos(i));
  const inputs = [
    g.input('qkv', 'float32', [1, 1, 3 * HEAD]),
    '',
    '',
    g.input('keys', 'float32', [1, 1, REGION, HEAD]),
    g.input('values', 'float32', [1, 1, REGION, HEAD]),
    g.input('last_position', 'int32', [1]),
    g.input('total_length', 'int32', [1]),
    g.tensor('cos', [REGION, HEAD / 2], table),
    g.tensor('sin', [REGION, HEAD / 2], table),
  ];
  const attributes = { num_heads: 1, kv_num_heads: 1, do_rotary: 1 };
  g.microsoftOps('GroupQueryAttention', inputs, attributes, ['attended', 'keys_out', 'values_out']);
  g.output('attended', 'float32', [1, 1, HEAD]);
  g.output('keys_out', 'float32', [1, 1, REGION, HEAD]);
  g.output('values_out', 'float32', [1, 1, REGION, HEAD]);
  return g.build('self-check');
}

function expectEqual(piece: string, actual: Float32Array, expected: readonly number[]): void {
  if (actual.every((value, i) => Math.abs(value - expected[i]!) < 1e-5)) return;
  throw unavailable(`${piece} gives wrong numbers here (${[...actual.slice(0, 4)]} …, not ${expected.slice(0, 4)} …)`);
}

function unavailable(what: string): RxllmError {
  return new RxllmError('RXLLM_RUNTIME_UNAVAILABLE', `the native runtime is not used: ${what}`);
}
