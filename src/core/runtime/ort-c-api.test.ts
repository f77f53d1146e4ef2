import { existsSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { OnnxBuilder } from '../graph/onnx-builder.ts';
import { ortCApi } from './ort-c-api.ts';
import { ORT_VERSION, ortLibraryPath } from './ort-library.ts';
import { maySpin, threadCount } from './thread-count.ts';

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
    const g = new OnnxBuilder();
    g.op('Identity', [g.input('x', 'float32', [1])], {}, 'y');
    g.output('y', 'float32', [1]);
    const model = g.build('test');
    const sessions: bigint[] = [];
    const tasks = () => readdirSync('/proc/self/task').length;
    /** How many threads come with so many sessions. */
    const threadsOf = async (count: number, threads: number, spin: boolean) => {
      const before = tasks();
      for (let i = 0; i < count; i++) {
        sessions.push(await api.createSession(model, { threads, spin, weightsDirectory: '.' }));
      }
      return tasks() - before;
    };
    const threads = threadCount(undefined);
    await threadsOf(1, threads, maySpin(undefined));
    // Some of this process come and go by themselves.
    expect(Math.abs(await threadsOf(12, threads, maySpin(undefined)))).toBeLessThan(6);
    expect(Math.abs((await threadsOf(12, threads + 2, false)) - 12 * (threads + 1))).toBeLessThan(6);
    for (const session of sessions) api.releaseSession(session);
  });
});
