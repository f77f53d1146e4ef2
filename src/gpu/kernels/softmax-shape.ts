/** y = softmax of each row of x, `[rows, columns]`. */
export interface SoftmaxShape {
  readonly rows: number;
  readonly columns: number;
  /** A workgroup, which takes a row; a power of two. */
  readonly threads?: number;
}

const MOST = 65535;

/** A workgroup a row, and no dimension of the grid above WebGPU's limit. */
export const rowWorkgroups = (rows: number): [number, number] => [Math.min(rows, MOST), Math.ceil(rows / MOST)];

export const ROW_OF_WORKGROUP = `workgroup.x + workgroup.y * ${MOST}u`;
