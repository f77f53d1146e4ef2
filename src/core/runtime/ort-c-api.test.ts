import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { OnnxBuilder } from '../graph/onnx-builder.ts';
import { ortCApi } from './ort-c-api.ts';
import { ORT_VERSION, ortLibraryPath } from './ort-library.ts';

describe('ortLibraryPath', () => {
  it.each([
    ['linux', 'x64', 'libonnxruntime.so.1'],
    ['linux', 'arm64', 'libonnxruntime.so.1'],
    ['darwin', 'arm64', 'libonnxruntime.1.30.0.dylib'],
    ['win32', 'x64', 'onnxruntime.dll'],
  ] as const)('finds the library of %s/%s', (platform, arch, file) => {
    const path = ortLibraryPath(platform, arch);
    expect(path.endsWith(file)).toBe(true);
    expect(existsSync(path)).toBe(true);
  });

  it('says what is missing on other machines', () => {
    expect(() => ortLibraryPath('aix', 'ppc64')).toThrow(
      expect.objectContaining({ code: 'RXLLM_RUNTIME_UNAVAILABLE', message: expect.stringContaining('aix/ppc64') }),
    );
  });
});

describe('OrtCApi', () => {
  const api = ortCApi();

  it('is one for the process, of the pinned version', () => {
    expect(ortCApi()).toBe(api);
    expect(api.version).toBe(ORT_VERSION);
  });

  it("passes on ONNX Runtime's message, from runs on both threads", async () => {
    const g = new OnnxBuilder();
    const table = g.tensor('table', [2, 1], Float32Array.of(1, 2));
    g.op('Gather', [table, g.input('index', 'int64', ['n'])], { axis: 0 }, 'row');
    g.output('row', 'float32', ['n', 1]);
    const session = await api.createSession(g.build('test'), { threads: 1, spin: false, weightsDirectory: '.' });
    const binding = api.createBinding(session);
    const index = Int32Array.of(1, 0);
    const row = new Float32Array(1);
    const tensors = [api.createTensor(index, 'int64', [1]), api.createTensor(row, 'float32', [1, 1])] as const;
    api.bindInput(binding, 'index', tensors[0]);
    api.bindOutput(binding, 'row', tensors[1]);
    api.run(session, binding);
    expect(row[0]).toBe(2);
    index[0] = 5;
    const failure = {
      code: 'RXLLM_RUNTIME_FAILED',
      message: expect.stringMatching(/ONNX Runtime: .*indices element out/),
    };
    expect(() => api.run(session, binding)).toThrow(expect.objectContaining(failure));
    await expect(api.runAsync(session, binding)).rejects.toMatchObject(failure);
    expect(() => api.bindInput(binding, 'nothing', tensors[0])).toThrow('nothing');
    api.releaseBinding(binding);
    for (const tensor of tensors) api.releaseTensor(tensor);
    api.releaseSession(session);
  });

  it.runIf(process.platform === 'linux')('shares its threads among sessions, but for one of others', async () => {
    const script = fileURLToPath(new URL('../../../test/support/count-threads.ts', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', script]);
    const { shared, own, threads } = JSON.parse(stdout);
    expect({ shared, own }).toEqual({ shared: 0, own: 12 * (threads + 1) });
  });
});
