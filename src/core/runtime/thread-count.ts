import { readdirSync, readFileSync } from 'node:fs';
import { arch, availableParallelism, platform } from 'node:os';
import { RxllmError } from '../errors.ts';

/** Decoding is bound by memory: beyond this, more threads mostly wait for each other. */
const MOST_USEFUL = 8;
const CPU_FOLDER = '/sys/devices/system/cpu';

/**
 * Threads a session computes with: the option, else `RXLLM_THREADS`, else one a physical core (two threads of one core
 * share its arithmetic units), at most 8.
 * @throws RxllmError `RXLLM_OPTION_INVALID`
 */
export function threadCount(option: number | undefined, { RXLLM_THREADS } = process.env): number {
  if (option === undefined && RXLLM_THREADS === undefined) {
    return Math.min(physicalCores(), availableParallelism(), MOST_USEFUL);
  }
  const threads = option ?? Number(RXLLM_THREADS);
  if (Number.isInteger(threads) && threads >= 1) return threads;
  const name = option === undefined ? 'RXLLM_THREADS' : 'threads';
  const message = `${name} is ${option ?? RXLLM_THREADS}; it must be a whole number, 1 or more`;
  throw new RxllmError('RXLLM_OPTION_INVALID', message, { param: name });
}

/** Idle threads spin for a moment unless the option, or else `RXLLM_SPIN=0`, says not to. */
export function maySpin(option: boolean | undefined, { RXLLM_SPIN } = process.env): boolean {
  return option ?? RXLLM_SPIN !== '0';
}

function physicalCores(): number {
  if (platform() === 'linux') {
    try {
      const siblings = readdirSync(CPU_FOLDER)
        .filter((entry) => /^cpu\d+$/.test(entry))
        .map((entry) => readFileSync(`${CPU_FOLDER}/${entry}/topology/thread_siblings_list`, 'utf8'));
      if (siblings.length > 0) return new Set(siblings).size;
    } catch {
      // Some containers hide it; guess as elsewhere.
    }
  }
  return arch() === 'x64' ? Math.ceil(availableParallelism() / 2) : availableParallelism();
}
