import { asyncScheduler, type SchedulerLike } from 'rxjs';

/** Fractions of milliseconds: `asyncScheduler` itself reads `Date.now`, whose whole ones are longer than a step. */
export const performanceClock: SchedulerLike = {
  now: () => performance.now(),
  schedule: asyncScheduler.schedule.bind(asyncScheduler),
};
