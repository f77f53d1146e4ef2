import { InvalidArgumentError } from 'commander';
import { DISTRIBUTION_SYNTAX, type Distribution, parseDistribution } from '../bench/distribution.ts';
import { GOODPUT_SYNTAX, type Goodput, parseGoodput } from '../bench/load-stats.ts';
import type { RequestRate } from '../bench/workload.ts';

/** Parsers for commander, which puts the option and the value before the message. */
export function distribution(text: string): Distribution {
  return parseDistribution(text) ?? refuse(DISTRIBUTION_SYNTAX);
}

export function goodput(text: string): Goodput {
  return parseGoodput(text) ?? refuse(GOODPUT_SYNTAX);
}

export function requestRate(text: string): RequestRate {
  if (text === 'inf' || text === 'workload') return text;
  const rate = Number(text);
  if (text.trim() !== '' && rate > 0 && Number.isFinite(rate)) return rate;
  return refuse('requests a second, a number above 0; inf for all at once; workload for the arrivals of its file');
}

function refuse(allowed: string): never {
  throw new InvalidArgumentError(`Allowed: ${allowed}.`);
}
