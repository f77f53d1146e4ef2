/** The exported graph of fused operators against our own of primitive ones, in turn. */
import { size } from '../support/args.ts';
import { beforeAndAfter } from '../support/before-and-after.ts';
import { writeMeasured } from '../support/measured.ts';

const comparing = { pairs: size(15, 1), maxTokens: size(64, 4) };
writeMeasured(import.meta.url, await beforeAndAfter(['generate-loop', 'transformer'], comparing));
