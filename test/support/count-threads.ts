/** A process of its own, in which no binding was first: prints how many threads come with 12 sessions, and 12 of others. */
import { readdirSync } from 'node:fs';
import { OnnxBuilder } from '../../src/core/graph/onnx-builder.ts';
import { ortCApi } from '../../src/core/runtime/ort-c-api.ts';
import { maySpin, threadCount } from '../../src/core/runtime/thread-count.ts';

const g = new OnnxBuilder();
g.op('Identity', [g.input('x', 'float32', [1])], {}, 'y');
g.output('y', 'float32', [1]);
const model = g.build('test');
const tasks = () => readdirSync('/proc/self/task').length;
const threadsOf = async (count: number, threads: number, spin: boolean) => {
  const before = tasks();
  for (let i = 0; i < count; i++) await ortCApi().createSession(model, { threads, spin, weightsDirectory: '.' });
  return tasks() - before;
};
const threads = threadCount(undefined);
await threadsOf(4, threads, maySpin(undefined));
const shared = await threadsOf(12, threads, maySpin(undefined));
console.log(JSON.stringify({ shared, own: await threadsOf(12, threads + 2, false), threads }));
process.exit();
