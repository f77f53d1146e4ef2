/** The box against the stages, in turn: they do the same work, so they must be equally fast. */
import { baseline, generateLoop } from 'rxllm';
import { alternate, comparison } from '../support/alternate.ts';
import { size } from '../support/args.ts';
import { writeMeasured } from '../support/measured.ts';

writeMeasured(import.meta.url, comparison(await alternate([baseline, generateLoop], size(15, 2), size(64, 4))));
