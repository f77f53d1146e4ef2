/** Why feedback helps: two inputs that move together, then a whole layer of the model on text that it was not calibrated on. */
import { quant } from 'rxllm';
import { gramsOf, model, weightsOf, windowsFrom } from '../support/quantized-model.ts';
import { textTable } from '../support/table.ts';

// y = 0.4 a + 0.4 b, to whole numbers. Rounded alone, both weights become 0 and y is lost.
console.log('y = 0.4 a + 0.4 b with a and b nearly equal, weights to whole numbers:');
console.log('  each alone:    0 a + 0 b');
console.log('  with feedback: a gets 0; what is missing, 0.4 a, is made up by b: 0.4 + 0.4 = 0.8, which becomes 1 b\n');

const calibration = await windowsFrom('stories-calibration.txt', model);
const judged = await windowsFrom('stories-eval.txt', model);
const states = quant.embedWindows(model, calibration.slice(0, 12));
const { grams } = await quant.captureLayer(model, 0, states);
const onOthers = await gramsOf(judged.slice(0, 4));

const scheme = quant.quantScheme({ bits: 4, groupSize: 64 });
const rows: (string | number)[][] = [];
for (const { modules, columns, sum } of grams) {
  const inputs = quant.gptqInputs(sum, columns);
  const ordered = quant.gptqInputs(sum, columns, { actOrder: true });
  for (const module of modules) {
    const weights = weightsOf(module);
    const count = weights.length / columns;
    const error = (matrix: quant.QuantizedMatrix) =>
      `${(100 * quant.outputError(weights, matrix, onOthers.get(module)!.sum)).toFixed(3)}%`;
    rows.push([
      module.replace('model.layers.0.', ''),
      error(quant.roundToNearest(weights, count, columns, scheme)),
      error(quant.gptq(weights, count, inputs, scheme)),
      error(quant.gptq(weights, count, ordered, scheme)),
    ]);
  }
}
console.log('Layer 0, int4 in groups of 64: squared error of the output on other text\n');
console.log(textTable(['layer', 'nearest', 'GPTQ', 'GPTQ, act-order'], rows));
