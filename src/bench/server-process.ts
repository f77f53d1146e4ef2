import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { RxllmError } from '../core/errors.ts';

const POLL_MS = 100;
/** Past it a server that was asked to end is killed. */
const GRACE_MS = 10_000;
const STDERR_KEPT = 2000;

export interface ServerProcess {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** Of the child. */
  readonly pid: number;
}

export interface ServerOptions {
  /** Arguments of `node`, for a port that is free. */
  readonly nodeArgs: (port: number) => readonly string[];
  readonly healthTimeoutMs?: number;
}

/** What makes `node` run `rxllm serve`, from this very checkout or package, under the loader that this process has. */
export function serveCommand(options: readonly string[]): ServerOptions['nodeArgs'] {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const cli = fileURLToPath(new URL(`../cli.${extension}`, import.meta.url));
  return (port) => [...process.execArgv, cli, 'serve', '--port', String(port), ...options];
}

/**
 * Starts a server as a child process, waits until its `/health` answers 200, and hands it to `use`. The child is always
 * stopped before this settles: when `use` is done, when it throws, on SIGINT and SIGTERM, and when this process exits.
 * @throws RxllmError `RXLLM_SERVER_UNAVAILABLE` when it ends early or is not healthy after 60 s
 */
export async function withServer<T>(
  { nodeArgs, healthTimeoutMs = 60_000 }: ServerOptions,
  use: (server: ServerProcess) => Promise<T>,
): Promise<T> {
  const port = await freePort();
  const child = spawn(process.execPath, nodeArgs(port), { stdio: ['ignore', 'ignore', 'pipe'] });
  const stderr = tail(child);
  const exited = once(child, 'exit');
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    const killing = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
    await exited;
    clearTimeout(killing);
  };
  const release = onEnd(child, stop);
  try {
    const url = `http://127.0.0.1:${port}`;
    await healthy(url, child, stderr, healthTimeoutMs);
    return await use({ url, pid: child.pid! });
  } finally {
    await stop();
    release();
  }
}

/** A signal stops the child first and then ends this process, as it would have without us. */
function onEnd(child: ChildProcess, stop: () => Promise<void>): () => void {
  const onSignal = (signal: NodeJS.Signals) => {
    void stop().then(() => process.exit(signal === 'SIGINT' ? 130 : 143));
  };
  const onExit = () => child.kill('SIGKILL');
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal).once('exit', onExit);
  return () => {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal).off('exit', onExit);
  };
}

async function healthy(url: string, child: ChildProcess, stderr: () => string, timeoutMs: number): Promise<void> {
  const until = performance.now() + timeoutMs;
  while (performance.now() < until) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw unavailable(`The server ended (${child.signalCode ?? `exit code ${child.exitCode}`}) before it served.`);
    }
    if (await answers(`${url}/health`)) return;
    await delay(POLL_MS);
  }
  throw unavailable(`The server was not healthy after ${timeoutMs / 1000} s: GET ${url}/health did not answer 200.`);

  function unavailable(message: string): RxllmError {
    const said = stderr().trim();
    return new RxllmError('RXLLM_SERVER_UNAVAILABLE', said === '' ? message : `${message} It said:\n${said}`);
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(1000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

/** The last of what the child writes on stderr. */
function tail({ stderr }: ChildProcess): () => string {
  let text = '';
  stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-STDERR_KEPT);
  });
  return () => text;
}

/** Another process can take it before the server does; then the server says so and ends. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
