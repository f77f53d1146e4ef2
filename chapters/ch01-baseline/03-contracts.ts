/** The three types that cross every engine's border, and stay when all behind it is exchanged. */
import { type GenerateResult, isGreedy, type RequestMetrics, RxllmError, resolveParams } from 'rxllm';
import { toWireMetrics } from 'rxllm/transport';

console.log('SamplingParams: how tokens are chosen. The defaults are greedy:');
console.log(resolveParams());

for (const given of [{}, { temperature: 0.8, topP: 0.95 }, { temperature: 0.8, topK: 1 }]) {
  console.log(`  ${JSON.stringify(given)} is ${isGreedy(resolveParams(given)) ? 'greedy' : 'drawn at random'}`);
}
try {
  resolveParams({ topP: 1.5 });
} catch (error) {
  if (error instanceof RxllmError) console.log(`  a wrong one has a code: ${error.code}: ${error.message}`);
}

console.log('\nRequestMetrics: what was measured; a time of 0 was not, and is left out on the wire:');
const metrics: RequestMetrics = { throughput: 98.7654, inputTokens: 11, outputTokens: 40, ttftMs: 0, tpotMs: 0 };
console.log('  chapter 1:', JSON.stringify(toWireMetrics(metrics)));
console.log('  chapter 2:', JSON.stringify(toWireMetrics({ ...metrics, ttftMs: 7.1234, tpotMs: 9.8765 })));

console.log('\nGenerateResult: the envelope; ids beside the text, for text does not give the ids back:');
const result: GenerateResult = { text: ' Sunny.', outputIds: [1795, 17], finishReason: 'length', metrics };
console.log(result);
