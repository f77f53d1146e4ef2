import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { type ServerProcess, withServer } from './server-process.ts';

/** A server that is healthy at the third time of asking. */
const server =
  (script = '') =>
  (port: number) => [
    '-e',
    `let asked = 0;
   ${script}
   require('node:http').createServer((_, response) => response.writeHead(++asked < 3 ? 503 : 200).end())
     .listen(${port}, '127.0.0.1');`,
  ];

const alive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('withServer', () => {
  it('hands over a server once it is healthy, and stops it afterwards', async () => {
    let seen: ServerProcess | undefined;
    const status = await withServer({ nodeArgs: server() }, async (running) => {
      seen = running;
      expect(alive(running.pid)).toBe(true);
      return (await fetch(`${running.url}/health`)).status;
    });
    expect(status).toBe(200);
    expect(alive(seen!.pid)).toBe(false);
    expect(process.listenerCount('SIGINT')).toBe(0);
  });

  it('stops it when its user throws', async () => {
    let pid = 0;
    const failing = withServer({ nodeArgs: server() }, async (running) => {
      pid = running.pid;
      throw new Error('HTTP 500');
    });
    await expect(failing).rejects.toThrow('HTTP 500');
    expect(alive(pid)).toBe(false);
  });

  it('tells what a server said that ends before it serves', async () => {
    const nodeArgs = () => ['-e', 'console.error("error: no such model"); process.exitCode = 3'];
    await expect(withServer({ nodeArgs }, async () => {})).rejects.toMatchObject({
      code: 'RXLLM_SERVER_UNAVAILABLE',
      message: 'The server ended (exit code 3) before it served. It said:\nerror: no such model',
    });
  });

  it('gives up on a server that never gets healthy, and stops it', async () => {
    const nodeArgs = server('asked = -1e9;');
    const waiting = withServer({ nodeArgs, healthTimeoutMs: 300 }, async () => {});
    await expect(waiting).rejects.toThrow(/was not healthy after 0.3 s: GET http:.*health did not answer 200/);
  });

  it('stops it when its own process is interrupted, which then exits with 130', async () => {
    const module = JSON.stringify(new URL('./server-process.ts', import.meta.url).href);
    const script = `
      const { withServer } = await import(${module});
      const nodeArgs = (port) => ['-e', \`require('node:http').createServer((_, r) => r.end()).listen(\${port}, '127.0.0.1')\`];
      await withServer({ nodeArgs }, ({ pid }) => { console.log(pid); return new Promise(() => setInterval(() => {}, 1000)); });`;
    const parent = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await once(parent.stdout, 'data');
    const pid = Number(line);
    expect(alive(pid)).toBe(true);
    parent.kill('SIGINT');
    expect(await once(parent, 'exit')).toEqual([130, null]);
    expect(alive(pid)).toBe(false);
  });
});
