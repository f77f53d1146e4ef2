export { performanceClock } from '../core/clock.ts';
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
export { type Ceilings, type CeilingsOptions, measureCeilings } from './profile/ceilings.ts';
export { copyBandwidth } from './profile/copy-bandwidth.ts';
export { KERNELS, matmulRate } from './profile/matmul-rate.ts';
export { opRun } from './profile/op-run.ts';
export type { Phase } from './profile/phase.ts';
export { type PhasePoint, phasePoints, roofsFor } from './profile/phase-points.ts';
export { type EngineProfile, type ProfileJob, profileEngine, profileParts } from './profile/profile-engine.ts';
export { rooflineChart, rooflineOf } from './profile/roofline-chart.ts';
export { rooflineText } from './profile/roofline-text.ts';
export { type PassRecord, ProfiledEngine, type StageRun } from './profile/stage-run.ts';
export { describeProfile } from './profile/summary.ts';
export { createProgress, type Progress } from './progress.ts';
export { printRatios, printStats } from './report.ts';
export { serveCommand, withServer } from './server-process.ts';
export { type BenchStats, median, percentile, quartiles } from './stats.ts';
export { colour, FRAME, fixed, PLOT, picture, text, ticks } from './svg.ts';
export { type Cell, textTable } from './text-table.ts';
export { readWorkload, type Workload } from './workload.ts';
