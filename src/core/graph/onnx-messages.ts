import { RxllmError } from '../errors.ts';
import {
  ATTRIBUTE_TYPE,
  type AttributeMessage,
  EXTERNAL_DATA,
  encodeModel,
  type GraphMessage,
  ONNX_DTYPE,
  type OnnxDtype,
  type TensorMessage,
  type ValueInfoMessage,
} from './onnx-schema.ts';

/** A fixed size, or the name of one that is known when the graph runs. */
export type Dim = number | string;
/** Whole numbers are ONNX ints; floats are marked, so that 1.0 is not taken for 1. */
export type Attribute = number | readonly number[] | { readonly float: number } | { readonly graph: GraphMessage };

export interface ExternalData {
  /** File name inside the weights folder. */
  readonly file: string;
  readonly offset: number;
  readonly length: number;
}

/** The domain of ONNX Runtime's own ops. */
export const MICROSOFT = 'com.microsoft';
const OPSET = 21;
const IR_VERSION = 10;
/** A protobuf message ends at 2 GiB; the rest of the graph takes a few of its bytes. */
const MOST_INSIDE = 2 ** 31 - 2 ** 24;

/** Without `dims`, of whatever shape. */
export function valueInfo(name: string, dtype: OnnxDtype, dims?: readonly Dim[]): ValueInfoMessage {
  const elemType = ONNX_DTYPE[dtype];
  if (dims === undefined) return { name, type: { tensorType: { elemType } } };
  const dim = dims.map((size) => (typeof size === 'number' ? { dimValue: size } : { dimParam: size }));
  return { name, type: { tensorType: { elemType, shape: { dim } } } };
}

export function attributeMessage(name: string, value: Attribute): AttributeMessage {
  if (typeof value === 'number') return { name, type: ATTRIBUTE_TYPE.int, i: value };
  if ('graph' in value) return { name, type: ATTRIBUTE_TYPE.graph, g: value.graph };
  if ('float' in value) return { name, type: ATTRIBUTE_TYPE.float, f: value.float };
  return { name, type: ATTRIBUTE_TYPE.ints, ints: value };
}

/** A tensor whose bytes are in the message. */
export function tensorMessage(
  name: string,
  dtype: OnnxDtype,
  dims: readonly number[],
  data: ArrayBufferView,
): TensorMessage {
  const rawData = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return { name, dims, dataType: ONNX_DTYPE[dtype], rawData };
}

/** A tensor whose bytes stay in their file. */
export function externalTensor(
  name: string,
  dtype: OnnxDtype,
  dims: readonly number[],
  { file, offset, length }: ExternalData,
): TensorMessage {
  const externalData = [
    { key: 'location', value: file },
    { key: 'offset', value: String(offset) },
    { key: 'length', value: String(length) },
  ];
  return { name, dims, dataType: ONNX_DTYPE[dtype], externalData, dataLocation: EXTERNAL_DATA };
}

/** @throws RxllmError `RXLLM_MODEL_UNSUPPORTED` when more bytes lie inside the model than its format can hold */
export function modelBytes(graph: GraphMessage): Uint8Array {
  const inside = graph.initializer.reduce((sum, { rawData }) => sum + (rawData?.byteLength ?? 0), 0);
  if (inside > MOST_INSIDE) {
    const message = `the graph would hold ${(inside / 2 ** 30).toFixed(1)} GiB of quantized weights, and ONNX holds less than 2`;
    throw new RxllmError('RXLLM_MODEL_UNSUPPORTED', `${message}; supported: smaller models, or fewer bits`);
  }
  return encodeModel({
    irVersion: IR_VERSION,
    producerName: 'rxllm',
    opsetImport: [
      { domain: '', version: OPSET },
      { domain: MICROSOFT, version: 1 },
    ],
    graph,
  });
}
