import { RxllmError } from '../../core/errors.ts';

export function queueFull(waiting: number): RxllmError {
  return new RxllmError(
    'RXLLM_QUEUE_FULL',
    `The queue is full: ${waiting} requests wait (maxQueue, --max-queue). Try again later.`,
  );
}
