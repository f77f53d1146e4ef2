/** A row of weights as whole numbers: what a group, its scale and its zero point are, and what group size costs and gains. */
import { quant } from 'rxllm';
import { weightsOf } from '../support/quantized-model.ts';
import { textTable } from '../support/table.ts';

const module = 'model.layers.0.mlp.down_proj';
const weights = weightsOf(module);
const [rows, columns] = [384, 1024];

for (const symmetric of [true, false]) {
  const group = quant.roundToNearest(
    weights.slice(0, 16),
    1,
    16,
    quant.quantScheme({ bits: 4, groupSize: 16, symmetric }),
  );
  const [scale, zero] = [group.scales[0]!, group.zeros[0]!];
  console.log(
    `${symmetric ? 'symmetric' : 'asymmetric'}: scale ${scale.toFixed(5)}, zero ${zero}; weight ≈ (code − zero) × scale\n`,
  );
  const values = [...quant.dequantize(group)];
  console.log(
    textTable(
      ['weight', 'code', 'stands for'],
      values.slice(0, 6).map((value, i) => [weights[i]!.toFixed(4), group.codes[i]!, value.toFixed(4)]),
    ),
  );
  console.log('  …\n');
}

const table = [...quant.GROUP_SIZES, 'channel' as const].flatMap((groupSize) =>
  quant.BITS.map((bits) => {
    const matrix = quant.roundToNearest(weights, rows, columns, quant.quantScheme({ bits, groupSize }));
    const packed = quant.packedBytes(quant.packBlocks(matrix));
    // A float16 scale and a zero point a group.
    const inFile = bits + (16 + bits) / (groupSize === 'channel' ? columns : groupSize);
    let [error, energy] = [0, 0];
    quant.dequantize(matrix).forEach((value, i) => {
      error += (value - weights[i]!) ** 2;
      energy += weights[i]! ** 2;
    });
    const share = `${((100 * packed) / weights.byteLength).toFixed(1)}%`;
    return [groupSize, bits, inFile.toFixed(2), share, `${((100 * error) / energy).toFixed(4)}%`];
  }),
);
console.log(`${module}, symmetric:\n`);
console.log(textTable(['group', 'bits', 'bits a weight, in a file', 'in memory, of float32', 'squared error'], table));
