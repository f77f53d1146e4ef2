import type { FastifySchemaValidationError } from 'fastify';

/**
 * The one sentence that tells what to change, out of ajv's list. Under a union ajv reports each branch and then the
 * union itself: the branch that got deepest into the value is the one its author meant.
 */
export function validationMessage(errors: readonly FastifySchemaValidationError[]): {
  readonly message: string;
  readonly param: string | undefined;
} {
  const branches = errors.filter((error) => error.keyword !== 'anyOf');
  const depth = Math.max(...branches.map((error) => error.instancePath.length));
  const deepest = branches.filter((error) => error.instancePath.length === depth);
  const [first] = deepest;
  if (first === undefined) return { message: 'The request is not valid.', param: undefined };

  const path = fieldPath(first.instancePath);
  const { additionalProperty, missingProperty } = first.params;
  if (first.keyword === 'additionalProperties') {
    const field = join(path, String(additionalProperty));
    return { message: `${field}: this field is unknown or not supported; remove it.`, param: field };
  }
  if (first.keyword === 'required') {
    const field = join(path, String(missingProperty));
    return { message: `${field}: this field is required.`, param: field };
  }
  if (path === '') return { message: 'The request body must be a JSON object.', param: undefined };
  const wanted = [...new Set(deepest.map(wantedBy))].join(' or ').replaceAll(' or must be ', ' or ');
  return { message: `${path}: ${wanted}.`, param: path };
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
