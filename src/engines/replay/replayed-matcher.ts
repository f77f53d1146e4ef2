import { defer, of } from 'rxjs';
import type { GrammarMatcher } from '../../core/contracts/index.ts';

/** A matcher whose mask is late where that of the recording was; then its step is not kept waiting for it. */
export function replayedMatcher(matcher: GrammarMatcher, isLate: () => boolean): GrammarMatcher {
  return {
    get isReady() {
      return !isLate() && matcher.isReady;
    },
    ready$: defer(() => (isLate() ? of(undefined) : matcher.ready$)),
    mask: () => matcher.mask(),
    accept: (id) => matcher.accept(id),
    dispose: () => matcher.dispose(),
  };
}
