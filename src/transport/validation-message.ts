import type { FastifySchemaValidationError } from 'fastify';
import { unknownField } from './openai/unknown-fields.ts';

/**
 * The one sentence that tells what to change, out of ajv's list. Under a union ajv reports the first error of each
 * branch and then the union itself. A branch that fails by more than a type is the one that the author meant, for its
 * types fit; else it is the branch that got furthest into the value.
 */
export function validationMessage(errors: readonly FastifySchemaValidationError[]): {
  readonly message: string;
  readonly param: string | undefined;
} {
  const branches = errors.filter((error) => error.keyword !== 'anyOf');
  const fitting = branches.filter((error) => error.keyword !== 'type');
  const [first] = (fitting.length > 0 ? fitting : branches).toSorted((a, b) => further(b.instancePath, a.instancePath));
  if (first === undefined) return { message: 'The request is not valid.', param: undefined };

  const path = fieldPath(first.instancePath);
  const { additionalProperty, missingProperty } = first.params;
  if (first.keyword === 'additionalProperties') {
    const field = join(path, String(additionalProperty));
    if (additionalProperty === '') return { message: `${path}: a field "" is not supported; remove it.`, param: path };
    return { message: `${field}: ${unknownField(field)}.`, param: field };
  }
  if (first.keyword === 'required') {
    const field = join(path, String(missingProperty));
    return { message: `${field}: this field is required.`, param: field };
  }
  if (path === '') return { message: 'The request body must be a JSON object.', param: undefined };
  const there = branches.filter((error) => error.instancePath === first.instancePath);
  const wanted = [...new Set((fitting.length > 0 ? [first] : there).map(wantedBy))]
    .join(' or ')
    .replaceAll(' or must be ', ' or ');
  return { message: `${path}: ${wanted}.`, param: path };
}

/** Deeper, or at the same depth later in an array. */
function further(a: string, b: string): number {
  const [inA, inB] = [a.split('/'), b.split('/')];
  return inA.length - inB.length || a.localeCompare(b, 'en', { numeric: true });
}

function wantedBy(error: FastifySchemaValidationError): string {
  const { allowedValues } = error.params;
  if (Array.isArray(allowedValues)) {
    return `must be one of ${allowedValues.map((value) => JSON.stringify(value)).join(', ')}`;
  }
  return error.message ?? 'is not valid';
}

/** `/messages/0/role` as `messages[0].role`. */
function fieldPath(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, part) => (/^\d+$/.test(part) && path !== '' ? `${path}[${part}]` : join(path, part)), '');
}

function join(path: string, field: string): string {
  return path === '' ? field : `${path}.${field}`;
}
