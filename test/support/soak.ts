import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { riseOverLastHalf } from './memory.ts';
import type { SoakReport, SoakServerOptions } from './soak-server.ts';

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));

/** A forked process of TypeScript, and the next thing that it tells. */
export class Forked {
  readonly process: ChildProcess;
  readonly exited: Promise<number | null>;

  constructor(file: string, args: readonly string[]) {
    this.process = fork(here(file), args, { execArgv: ['--import', 'tsx'] });
    this.exited = new Promise((resolve) => this.process.once('exit', resolve));
  }

  async next<T>(): Promise<T> {
    const ended = this.exited.then((code) => Promise.reject(new Error(`the process ended with ${code}`)));
    const [message] = (await Promise.race([once(this.process, 'message'), ended])) as [T];
    return message;
  }

  ask<T>(question: object = {}): Promise<T> {
    this.process.send(question);
    return this.next<T>();
  }
}

export interface SoakServer {
  readonly address: string;
  report(): Promise<SoakReport>;
  /** Sends SIGTERM. */
  terminate(): Promise<{
    readonly code: number | null;
    readonly ms: number;
    /** Objects of ONNX Runtime that were not released, by their kind. */
    readonly left: Readonly<Record<string, number>>;
  }>;
}

export async function soakServer(options: SoakServerOptions): Promise<SoakServer> {
  const forked = new Forked('soak-server.ts', [JSON.stringify(options)]);
  const { address } = await forked.next<{ address: string }>();
  return {
    address,
    report: () => forked.ask<SoakReport>(),
    terminate: async () => {
      const start = performance.now();
      forked.process.kill('SIGTERM');
      const { left } = await forked.next<{ left: Record<string, number> }>();
      return { left, code: await forked.exited, ms: performance.now() - start };
    },
  };
}

/** The figures in a line, for the log of a long run. */
export function described({ delay, resident, held }: SoakReport): string {
  const [p50, p99, max] = [delay.p50, delay.p99, delay.max].map((ms) => ms.toFixed(1));
  const mebibytes = (of: readonly number[]) => {
    const [half, end] = [of[of.length >> 1]!, of.at(-1)!].map((bytes) => Math.round(bytes / 2 ** 20));
    return `${half} MiB at half time, ${end} at the end, rise of the last quarter ${(100 * riseOverLastHalf(of)).toFixed(2)}%`;
  };
  return (
    `event-loop delay p50 ${p50}, p99 ${p99}, max ${max} ms; resident ${mebibytes(resident)}; ` +
    `without garbage ${mebibytes(held)}`
  );
}
