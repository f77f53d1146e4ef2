import { delay } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { emptyStep, operatorContext } from '../../test/support/context.ts';
import { expectWellBehaved, testScheduler } from '../../test/support/marbles.ts';
import { profile } from './profile.ts';

describe('profile', () => {
  it('gives each stage the time between what passed before it and what passed behind it', () => {
    const scheduler = testScheduler();
    const { observer, stages } = profile();
    scheduler.run(({ cold }) => {
      const context = operatorContext(scheduler);
      cold('a----b|', { a: { index: 0, now: 0 }, b: { index: 1, now: 5 } })
        .pipe(observer(context, 'schedule'), delay(2), observer(context, 'prefill'), observer(context, 'decode'))
        .subscribe();
    });
    expect(stages()).toEqual([
      { stage: 'schedule', steps: 2, totalMs: 0 },
      { stage: 'prefill', steps: 2, totalMs: 4 },
      { stage: 'decode', steps: 2, totalMs: 0 },
    ]);
  });

  it('is well behaved', () => {
    expectWellBehaved((scheduler) => profile().observer(operatorContext(scheduler), 'sample'), emptyStep());
  });
});
