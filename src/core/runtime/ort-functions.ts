import koffi from 'koffi';

/** ONNX Runtime's kernels outgrow koffi's default of 128 KiB for asynchronous calls. */
const STACK_BYTES = 8 << 20;
const API_VERSION = 17;

const POINTER = 'void *';
/** ORTCHAR_T: how ONNX Runtime takes a path. */
const PATH = process.platform === 'win32' ? 'str16' : 'str';
/** Named by a type that declarations can show; koffi tells by the object itself. */
const OUT = koffi.out('void **') as unknown as string;

/** Place in `OrtApi` (a struct of function pointers that only ever grows at its end), result, arguments. */
const FUNCTIONS = {
  GetErrorMessage: [2, 'str', [POINTER]],
  CreateSessionFromArray: [8, POINTER, [POINTER, POINTER, 'size_t', POINTER, OUT]],
  CreateSessionOptions: [10, POINTER, [OUT]],
  EnableProfiling: [14, POINTER, [POINTER, PATH]],
  DisableCpuMemArena: [19, POINTER, [POINTER]],
  SetSessionLogSeverityLevel: [22, POINTER, [POINTER, 'int']],
  SetSessionGraphOptimizationLevel: [23, POINTER, [POINTER, 'int']],
  SetIntraOpNumThreads: [24, POINTER, [POINTER, 'int']],
  CreateTensorWithDataAsOrtValue: [49, POINTER, [POINTER, POINTER, 'size_t', 'int64_t *', 'size_t', 'int', OUT]],
  CreateCpuMemoryInfo: [69, POINTER, ['int', 'int', OUT]],
  AllocatorFree: [76, POINTER, [POINTER, POINTER]],
  GetAllocatorWithDefaultOptions: [78, POINTER, [OUT]],
  ReleaseStatus: [93, 'void', [POINTER]],
  ReleaseSession: [95, 'void', [POINTER]],
  ReleaseValue: [96, 'void', [POINTER]],
  ReleaseSessionOptions: [100, 'void', [POINTER]],
  SessionEndProfiling: [110, POINTER, [POINTER, POINTER, OUT]],
  CreateEnvWithGlobalThreadPools: [119, POINTER, ['int', 'str', POINTER, OUT]],
  DisablePerSessionThreads: [120, POINTER, [POINTER]],
  CreateThreadingOptions: [121, POINTER, [OUT]],
  ReleaseThreadingOptions: [122, 'void', [POINTER]],
  AddSessionConfigEntry: [130, POINTER, [POINTER, 'str', 'str']],
  RunWithBinding: [133, POINTER, [POINTER, POINTER, POINTER]],
  CreateIoBinding: [134, POINTER, [POINTER, OUT]],
  ReleaseIoBinding: [135, 'void', [POINTER]],
  BindInput: [136, POINTER, [POINTER, 'str', POINTER]],
  BindOutput: [137, POINTER, [POINTER, 'str', POINTER]],
  SetGlobalIntraOpNumThreads: [147, POINTER, [POINTER, 'int']],
  SetGlobalSpinControl: [149, POINTER, [POINTER, 'int']],
} as const satisfies Record<string, readonly [number, string, readonly string[]]>;
const API_LENGTH = 150;

export interface Call {
  (...args: unknown[]): unknown;
  /** On one of libuv's threads; the callback comes back on this one. */
  async(...args: unknown[]): void;
}
export type OrtFunctions = Record<keyof typeof FUNCTIONS, Call>;

/** A library whose handle is collected is unmapped, and the next call into it crashes. */
const keepLoaded: unknown[] = [];

/** The functions that rxllm calls, out of the library at `path`, and its version. */
export function loadOrtFunctions(path: string): { readonly version: string; readonly functions: OrtFunctions } {
  const settings = koffi.config();
  // koffi refuses a change once any library is loaded through it, even one that changes nothing.
  if ((settings.async_stack_size ?? 0) < STACK_BYTES) {
    koffi.config({ ...settings, sync_stack_size: STACK_BYTES, async_stack_size: STACK_BYTES });
  }
  const library = koffi.load(path);
  keepLoaded.push(library);
  const base = koffi.decode(library.func('void *OrtGetApiBase()')(), koffi.array('void *', 2)) as [bigint, bigint];
  const version = koffi.decode(base[1], koffi.proto('str', []))() as string;
  const api = koffi.decode(base[0], koffi.proto(POINTER, ['uint32_t']))(API_VERSION) as bigint | null;
  if (api === null) throw new Error(`ONNX Runtime ${version} does not offer version ${API_VERSION} of its API`);
  const table = koffi.decode(api, koffi.array('void *', API_LENGTH)) as bigint[];
  const decoded = Object.entries(FUNCTIONS).map(([name, [index, result, args]]) => [
    name,
    koffi.decode(table[index], koffi.proto(result, [...args])),
  ]);
  return { version, functions: Object.fromEntries(decoded) as OrtFunctions };
}
