/** The box against the stages, in turn: they do the same work, so they must be equally fast. */
import { size } from '../support/args.ts';
import { beforeAndAfter } from '../support/before-and-after.ts';
import { writeMeasured } from '../support/measured.ts';

const comparing = { pairs: size(15, 1), maxTokens: size(128, 4) };
writeMeasured(import.meta.url, await beforeAndAfter(['baseline', 'generate-loop'], comparing));
