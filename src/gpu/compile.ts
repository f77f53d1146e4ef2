import { RxllmError } from '../core/errors.ts';
import type { Kernel } from './kernel.ts';

/** @throws RxllmError `RXLLM_KERNEL_INVALID` with the first error and its line */
export async function compile(device: GPUDevice, { name, code }: Kernel): Promise<GPUComputePipeline> {
  device.pushErrorScope('validation');
  const module = device.createShaderModule({ code, label: name });
  const [invalid, { messages }] = await Promise.all([device.popErrorScope(), module.getCompilationInfo()]);
  const error = messages.find(({ type }) => type === 'error');
  if (invalid !== null || error !== undefined) {
    // The rest of a message lists what could have stood there instead.
    const [what] = (error ?? invalid!).message.split('\n', 1);
    const where = error && ` in line ${error.lineNum}: ${code.split('\n')[error.lineNum - 1]?.trim()}`;
    throw new RxllmError('RXLLM_KERNEL_INVALID', `${name}: ${what}${where ?? ''}`);
  }
  const compute = { module, entryPoint: 'main' };
  return device.createComputePipelineAsync({ layout: 'auto', compute, label: name }).catch((cause: Error) => {
    throw new RxllmError('RXLLM_KERNEL_INVALID', `${name}: ${cause.message}`, { cause });
  });
}
