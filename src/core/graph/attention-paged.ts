import type { AttentionKernel, AttentionStrategy } from './attention.ts';
import { KV_SIDES, type KvSide, NAMES, poolInput, poolOutput } from './graph-inputs.ts';
import type { Edge } from './onnx-builder.ts';
import { extend, rotary } from './rotary.ts';

/**
 * PagedAttention (vLLM, 2023) out of plain ops: new keys and values are scattered into the pool's blocks, and a row's keys
 * are gathered by its block table. One graph for prefill, chunks of it, decode and verify.
 *
 * Returned: the pool is only read; what was gathered is completed by the new tokens, which also leave the graph.
 */
export const pagedAttention =
  (kernel: AttentionKernel): AttentionStrategy =>
  (g, config, cacheWrites) => {
    const { layers, kvHeads, headDim } = config;
    const poolShape = ['head_blocks', 'block_size', headDim];
    const pools = Array.from({ length: layers }, (_, layer) => ({
      key: g.input(poolInput('key', layer), 'float32', poolShape),
      value: g.input(poolInput('value', layer), 'float32', poolShape),
    }));
    const rope = rotary(g, config);
    const blockTable = g.input(NAMES.blockTable, 'int64', ['rows', kvHeads, 'blocks']);
    const slots = g.input(NAMES.slots, 'int64', ['tokens', kvHeads, 1, 2]);

    const blockSize = g.op('Gather', [g.op('Shape', [pools[0]!.key]), g.int64([1])]);
    const blocks = g.op('Gather', [g.op('Shape', [blockTable]), g.int64([2])]);
    const keys = g.op('Mul', [blocks, blockSize]);
    const attend = kernel(g, config, rope, g.op('Squeeze', [keys]));

    const byRow = extend(g, g.op('Gather', [rope.rectangle, g.int64([0])]), kvHeads, -1, headDim);
    const gather = (pool: Edge) => g.op('Gather', [pool, blockTable], { axis: 0 });
    const perHead = g.op('Concat', [g.int64([-1]), keys, g.int64([headDim])], { axis: 0 });
    const returned: Edge[] = [];

    /** Writes `fresh [rows × width, kvHeads, 1, headDim]` and gives all of a row, `[rows, kvHeads, blocks × blockSize, headDim]`. */
    const writeAndRead = (side: KvSide, layer: number, fresh: Edge): Edge => {
      const pool = pools[layer]![side];
      if (cacheWrites === 'in-place') {
        g.output(poolOutput(side, layer), 'float32', poolShape);
        return g.op('Reshape', [gather(g.op('ScatterND', [pool, slots, fresh], {}, poolOutput(side, layer))), byRow]);
      }
      returned.push(fresh);
      const past = g.op('Reshape', [gather(pool), perHead]);
      return g.op('Reshape', [g.op('ScatterND', [past, slots, fresh]), byRow]);
    };

    return {
      attend(layer, qkv) {
        const { q, k, v } = rope.rotate(qkv);
        return attend(q, writeAndRead('key', layer, k), writeAndRead('value', layer, v));
      },
      finish() {
        if (cacheWrites === 'in-place') return;
        const stacked = returned.map((fresh) => g.op('Reshape', [fresh, g.int64([1, -1, kvHeads, headDim])]));
        g.op('Concat', stacked, { axis: 0 }, NAMES.newKv);
        g.output(NAMES.newKv, 'float32', [layers * KV_SIDES.length, 'tokens', kvHeads, headDim]);
      },
    };
  };
