export interface QuadMatrix {
  readonly name: string;
  readonly binding: number;
  readonly rows: number;
  readonly columns: number;
  /** What a workgroup takes of it; bounds that it cannot cross are not checked. */
  readonly tile: { readonly rows: number; readonly columns: number };
}

/** WGSL of a row-major matrix that is read four neighbours at a time: `NAMEQuad(row, quad)`, 0 past its edges. */
export function readQuads(matrix: QuadMatrix): string {
  const { name, columns } = matrix;
  const whole = `return ${name}[row * ${columns / 4}u + quad];`;
  const singly = `
  var value = vec4f();
  for (var i = 0u; i < 4u && quad * 4u + i < ${columns}u; i++) { value[i] = ${name}[row * ${columns}u + quad * 4u + i]; }
  return value;`;
  return /* wgsl */ `
${declaration(matrix, 'read')}
fn ${name}Quad(row: u32, quad: u32) -> vec4f {
  ${outside(matrix, 'return vec4f();')}
  ${columns % 4 === 0 ? whole : singly}
}`;
}

/** The same for one that is written: `NAMESetQuad(row, quad, value)`, nothing past its edges. */
export function writeQuads(matrix: QuadMatrix): string {
  const { name, columns } = matrix;
  const whole = `${name}[row * ${columns / 4}u + quad] = value;`;
  const singly = `for (var i = 0u; i < 4u && quad * 4u + i < ${columns}u; i++) { ${name}[row * ${columns}u + quad * 4u + i] = value[i]; }`;
  return /* wgsl */ `
${declaration(matrix, 'read_write')}
fn ${name}SetQuad(row: u32, quad: u32, value: vec4f) {
  ${outside(matrix, 'return;')}
  ${columns % 4 === 0 ? whole : singly}
}`;
}

const declaration = ({ name, binding, columns }: QuadMatrix, access: string) =>
  `@group(0) @binding(${binding}) var<storage, ${access}> ${name}: array<${columns % 4 === 0 ? 'vec4f' : 'f32'}>;`;

function outside({ rows, columns, tile }: QuadMatrix, then: string): string {
  const checks: string[] = [];
  if (rows % tile.rows !== 0) checks.push(`row >= ${rows}u`);
  if (columns % tile.columns !== 0) checks.push(`quad * 4u >= ${columns}u`);
  return checks.length === 0 ? '' : `if (${checks.join(' || ')}) { ${then} }`;
}
