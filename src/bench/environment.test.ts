import { expect, it } from 'vitest';
import { environment } from './environment.ts';

it('says where, with what, when and by which command', () => {
  const argv = ['bench', 'offline', '--prompt', 'Once upon a time', '--engine', 'a,b'];
  const { machine, versions, date, command } = environment(new Date(0), argv);
  expect(command).toBe('rxllm bench offline --prompt "Once upon a time" --engine a,b');
  expect(date).toBe('1970-01-01T00:00:00.000Z');
  expect(versions).toMatchObject({
    node: process.versions.node,
    rxllm: expect.stringMatching(/^\d+\.\d+/),
    onnxruntime: '1.30.0',
  });
  expect(machine.cores).toBeGreaterThan(0);
  expect(machine.memoryGiB).toBeGreaterThan(0);
});
