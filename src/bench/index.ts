export type { BenchRequest } from './client.ts';
export type { Ratio } from './compare.ts';
export { behindHttp, type Contestant, inProcess, withEngines, withServers } from './contestants.ts';
export { type Environment, environment } from './environment.ts';
export type { LoadStats } from './load-stats.ts';
export {
  type Comparison,
  type LoadJob,
  type Measured,
  measureLoad,
  measurePrompt,
  type PromptJob,
} from './measure.ts';
export { createProgress, type Progress } from './progress.ts';
export { printRatios, printStats } from './report.ts';
export { serveCommand, withServer } from './server-process.ts';
export { type BenchStats, percentile } from './stats.ts';
export { readWorkload, type Workload } from './workload.ts';
