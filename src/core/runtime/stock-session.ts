import ort from 'onnxruntime-node';
import { maySpin } from './thread-count.ts';

export interface StockSessionOptions {
  readonly threads: number;
  /** What external data in the graph is relative to. */
  readonly weightsDirectory?: string;
}

/** A session of onnxruntime-node, as all of ours are: its errors come as exceptions, and are not printed as well. */
export function stockSession(
  graph: Uint8Array,
  { threads, weightsDirectory }: StockSessionOptions,
): Promise<ort.InferenceSession> {
  return ort.InferenceSession.create(graph, {
    intraOpNumThreads: threads,
    logSeverityLevel: 4,
    extra: {
      session: {
        ...(weightsDirectory && { model_external_initializers_file_folder_path: weightsDirectory }),
        'intra_op.allow_spinning': maySpin(undefined) ? '1' : '0',
      },
    },
  });
}
