/** The exported graph with fused operators against our own out of primitive ones, in turn. */
import { generateLoop, transformer } from 'rxllm';
import { alternate, comparison } from '../support/alternate.ts';
import { size } from '../support/args.ts';
import { writeMeasured } from '../support/measured.ts';

writeMeasured(import.meta.url, comparison(await alternate([generateLoop, transformer], size(15, 2), size(64, 4))));
