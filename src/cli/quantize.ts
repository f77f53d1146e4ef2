import { join } from 'node:path';
import type { Command } from 'commander';
import { createProgress } from '../bench/progress.ts';
import type { Model } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { windowsOf } from '../core/eval/window-logits.ts';
import { loadModel } from '../core/model/load-model.ts';
import { linearModules, type QuantMethod } from '../core/quant/quantize-layers.ts';
import { BITS, GROUP_SIZES, quantScheme } from '../core/quant/scheme.ts';
import { writeCheckpoint } from '../core/quant/write-checkpoint.ts';
import { modelOption } from './model-options.ts';
import { notEmpty, number, oneOf } from './options.ts';
import { readText } from './perplexity.ts';
import { CliError } from './report-error.ts';

const CALIBRATION_WINDOW = 512;

interface QuantizeOptions {
  readonly model: string;
  readonly out: string;
  readonly method: 'rtn' | 'gptq';
  readonly bits: string;
  readonly groupSize: string;
  readonly asymmetric: boolean;
  readonly calibration?: string;
  readonly actOrder: boolean;
  readonly damping: number;
}

/** `rxllm quantize`: a folder with smaller weights. */
export function addQuantize(program: Command): void {
  program
    .command('quantize')
    .description(
      'write a model with 4-bit or 8-bit weights, as a Hugging Face folder; an interrupted run can be repeated',
    )
    .requiredOption('--out <dir>', 'a new folder, or that of an interrupted run (required)', notEmpty)
    .addOption(modelOption())
    .option(
      '--method <name>',
      'rtn: round each weight; gptq: make up for what rounding does',
      oneOf('rtn', 'gptq'),
      'gptq',
    )
    .option('--bits <number>', 'bits a weight: 4 or 8', oneOf(...BITS.map(String)), '4')
    .option(
      '--group-size <number>',
      'weights that share a scale: 16, 32, 64, 128 or channel, a whole row',
      oneOf(...GROUP_SIZES.map(String), 'channel'),
      '32',
    )
    .option('--asymmetric', 'give each group a zero point of its own', false)
    .option('--calibration <file>', 'a text like those that the model is to write (required for gptq)')
    .option('--act-order', 'gptq: begin with the inputs that are largest', false)
    .option('--damping <share>', "gptq: of the Hessian's mean diagonal, added to it", number(0, 1), 0.01)
    .action((options: QuantizeOptions, command: Command) => {
      checkMethod(options, command);
      return quantize(options);
    });
}

/** What only gptq takes, and what it needs, told before anything is loaded. @throws RxllmError `RXLLM_OPTION_INVALID` */
function checkMethod({ method, calibration }: QuantizeOptions, command: Command): void {
  if (method === 'gptq') {
    if (calibration !== undefined) return;
    const message = 'calibration: gptq needs a text; give a file of some pages, or use --method rtn.';
    throw new RxllmError('RXLLM_OPTION_INVALID', message, { param: 'calibration' });
  }
  for (const param of ['calibration', 'actOrder', 'damping']) {
    if (command.getOptionValueSource(param) !== 'cli') continue;
    const message = `${param}: --method ${method} looks at the weights alone; leave it out, or use --method gptq.`;
    throw new RxllmError('RXLLM_OPTION_INVALID', message, { param });
  }
}

async function quantize({
  model: directory,
  out,
  bits,
  groupSize,
  asymmetric,
  ...options
}: QuantizeOptions): Promise<void> {
  const model = await loadModel(directory);
  const scheme = quantScheme({
    bits: Number(bits),
    groupSize: groupSize === 'channel' ? groupSize : Number(groupSize),
    symmetric: !asymmetric,
  });
  const method = await methodOf(model, options);
  const progress = createProgress('matrices', model.config.layers * linearModules(model, 0).length);
  const onDamaged = (file: string) =>
    void process.stderr.write(`warning: ${join(out, file)} is damaged; its layer is done again\n`);
  const start = performance.now();
  try {
    await writeCheckpoint(model, out, { scheme, method, onMatrix: progress.advance, onDamaged });
  } finally {
    progress.stop();
  }
  process.stdout.write(
    `${out}: ${bits} bits by ${method.name}, in ${((performance.now() - start) / 1000).toFixed(1)} s\n`,
  );
}

async function methodOf(
  model: Model,
  options: Pick<QuantizeOptions, 'calibration' | 'actOrder' | 'damping'>,
): Promise<QuantMethod> {
  const { calibration, actOrder, damping } = options;
  // It is there for gptq and for nothing else.
  if (calibration === undefined) return { name: 'rtn' };
  const ids = model.tokenizer.encode(await readText(calibration), { addSpecialTokens: false });
  if (ids.length === 0) throw new CliError(`${calibration} is empty; gptq needs some pages of text.`);
  const window = Math.min(CALIBRATION_WINDOW, model.config.maxPositions);
  return { name: 'gptq', options: { actOrder, damping }, windows: windowsOf(ids, window) };
}
