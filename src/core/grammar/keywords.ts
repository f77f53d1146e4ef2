/** A schema that is an object; those of its keywords that are looked at by name. */
export interface Keywords {
  readonly [keyword: string]: unknown;
  readonly type?: unknown;
  readonly properties?: unknown;
  readonly required?: unknown;
  readonly enum?: unknown;
  readonly const?: unknown;
  readonly allOf?: unknown;
  readonly $ref?: unknown;
  readonly format?: unknown;
}

/** Of numbers. */
export const BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];

/** Beside one of these XGrammar sees nothing else. */
export const ALONE = ['$ref', 'allOf', 'anyOf', 'oneOf'];

/** Beside one of these XGrammar looks at no bounds, lengths, patterns or formats. */
export const DECISIVE = [...ALONE, 'enum', 'const'];

/** Formats of texts that XGrammar knows. */
export const FORMATS = [
  ...['email', 'date', 'time', 'date-time', 'duration', 'ipv4', 'ipv6', 'hostname', 'uuid'],
  ...['uri', 'uri-reference', 'uri-template', 'json-pointer', 'relative-json-pointer'],
];
