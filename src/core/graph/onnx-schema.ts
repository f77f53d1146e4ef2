import protobuf from 'protobufjs/light.js';

/** The part of `onnx.proto` (IR version 10) that a graph written here needs; field numbers are ONNX's. */
const root = protobuf.Root.fromJSON({
  nested: {
    ModelProto: {
      fields: {
        irVersion: { type: 'int64', id: 1 },
        producerName: { type: 'string', id: 2 },
        graph: { type: 'GraphProto', id: 7 },
        opsetImport: { rule: 'repeated', type: 'OperatorSetIdProto', id: 8 },
      },
    },
    OperatorSetIdProto: {
      fields: { domain: { type: 'string', id: 1 }, version: { type: 'int64', id: 2 } },
    },
    GraphProto: {
      fields: {
        node: { rule: 'repeated', type: 'NodeProto', id: 1 },
        name: { type: 'string', id: 2 },
        initializer: { rule: 'repeated', type: 'TensorProto', id: 5 },
        input: { rule: 'repeated', type: 'ValueInfoProto', id: 11 },
        output: { rule: 'repeated', type: 'ValueInfoProto', id: 12 },
      },
    },
    NodeProto: {
      fields: {
        input: { rule: 'repeated', type: 'string', id: 1 },
        output: { rule: 'repeated', type: 'string', id: 2 },
        name: { type: 'string', id: 3 },
        opType: { type: 'string', id: 4 },
        attribute: { rule: 'repeated', type: 'AttributeProto', id: 5 },
        domain: { type: 'string', id: 7 },
      },
    },
    AttributeProto: {
      fields: {
        name: { type: 'string', id: 1 },
        f: { type: 'float', id: 2 },
        i: { type: 'int64', id: 3 },
        g: { type: 'GraphProto', id: 6 },
        ints: { rule: 'repeated', type: 'int64', id: 8 },
        type: { type: 'int32', id: 20 },
      },
    },
    TensorProto: {
      fields: {
        dims: { rule: 'repeated', type: 'int64', id: 1 },
        dataType: { type: 'int32', id: 2 },
        name: { type: 'string', id: 8 },
        rawData: { type: 'bytes', id: 9 },
        externalData: { rule: 'repeated', type: 'StringStringEntryProto', id: 13 },
        dataLocation: { type: 'int32', id: 14 },
      },
    },
    StringStringEntryProto: {
      fields: { key: { type: 'string', id: 1 }, value: { type: 'string', id: 2 } },
    },
    ValueInfoProto: {
      fields: { name: { type: 'string', id: 1 }, type: { type: 'TypeProto', id: 2 } },
    },
    TypeProto: { fields: { tensorType: { type: 'TensorTypeProto', id: 1 } } },
    TensorTypeProto: {
      fields: { elemType: { type: 'int32', id: 1 }, shape: { type: 'TensorShapeProto', id: 2 } },
    },
    TensorShapeProto: { fields: { dim: { rule: 'repeated', type: 'DimensionProto', id: 1 } } },
    DimensionProto: {
      fields: { dimValue: { type: 'int64', id: 1 }, dimParam: { type: 'string', id: 2 } },
    },
  },
});

/** `TensorProto.DataType`. */
export const ONNX_DTYPE = {
  float32: 1,
  uint8: 2,
  int8: 3,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
  bfloat16: 16,
} as const;
export type OnnxDtype = keyof typeof ONNX_DTYPE;

/** `AttributeProto.AttributeType`. */
export const ATTRIBUTE_TYPE = { float: 1, int: 2, graph: 5, ints: 7 } as const;

/** `TensorProto.DataLocation`. */
export const EXTERNAL_DATA = 1;

export interface AttributeMessage {
  readonly name: string;
  readonly type: number;
  readonly f?: number;
  readonly i?: number;
  readonly g?: GraphMessage;
  readonly ints?: readonly number[];
}
export interface NodeMessage {
  readonly input: readonly string[];
  readonly output: readonly string[];
  readonly name: string;
  readonly opType: string;
  readonly attribute: readonly AttributeMessage[];
  readonly domain: string;
}
export interface TensorMessage {
  readonly dims: readonly number[];
  readonly dataType: number;
  readonly name: string;
  readonly rawData?: Uint8Array;
  readonly externalData?: readonly { readonly key: string; readonly value: string }[];
  readonly dataLocation?: number;
}
export interface ValueInfoMessage {
  readonly name: string;
  readonly type: {
    readonly tensorType: {
      readonly elemType: number;
      readonly shape?: { readonly dim: readonly ({ readonly dimValue: number } | { readonly dimParam: string })[] };
    };
  };
}
export interface ModelMessage {
  readonly irVersion: number;
  readonly producerName: string;
  readonly opsetImport: readonly { readonly domain: string; readonly version: number }[];
  readonly graph: GraphMessage;
}
export interface GraphMessage {
  readonly name: string;
  readonly node: readonly NodeMessage[];
  readonly initializer: readonly TensorMessage[];
  readonly input: readonly ValueInfoMessage[];
  readonly output: readonly ValueInfoMessage[];
}

const ModelProto = root.lookupType('ModelProto');

export function encodeModel(model: ModelMessage): Uint8Array {
  return ModelProto.encode(model).finish();
}

/** The message as plain objects, int64 as numbers, bytes as they are. */
export function decodeModel(bytes: Uint8Array): ModelMessage {
  const message = ModelProto.toObject(ModelProto.decode(bytes), { longs: Number, arrays: true, defaults: false });
  return message as unknown as ModelMessage;
}
