import { type MonoTypeOperatorFunction, map } from 'rxjs';

/** Looks at each value as it passes: `tap`, but without its listeners for the end, which cost more where steps pass. */
export const onEach = <T>(look: (value: T) => void): MonoTypeOperatorFunction<T> =>
  map((value) => {
    look(value);
    return value;
  });
