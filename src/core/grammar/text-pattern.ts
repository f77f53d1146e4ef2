import { DECISIVE, FORMATS, type Keywords } from './keywords.ts';
import { toXGrammarPattern } from './pattern.ts';

/** Those that XGrammar makes of anything, quotes and line feeds included. */
const REPLACED: Readonly<Record<string, string>> = {
  'json-pointer': '(/([^~/]|~[01])*)*',
  'relative-json-pointer': '(0|[1-9][0-9]*)(#|(/([^~/]|~[01])*)*)',
};

/**
 * What makes XGrammar keep the texts of a schema: their pattern as it reads it, and a pattern in place of a length or a
 * format of which it makes what is not JSON. Nothing where it looks at none of them.
 */
export function textPattern(
  schema: Keywords,
): Partial<Record<'pattern' | 'minLength' | 'maxLength' | 'format', unknown>> {
  const { pattern, format, minLength, maxLength }: Partial<Record<string, unknown>> = { ...schema };
  const isRead = [schema.type].flat().includes('string');
  if (!isRead || DECISIVE.some((name) => schema[name] !== undefined)) return {};
  const replaced = (text: string) => ({ pattern: toXGrammarPattern(text, 'json'), ...NONE });
  if (pattern !== undefined) return typeof pattern === 'string' ? replaced(pattern) : {};
  if (typeof format === 'string' && FORMATS.includes(format)) {
    return Object.hasOwn(REPLACED, format) ? replaced(REPLACED[format]!) : {};
  }
  const [least, most] = [Number(minLength ?? 0), Number(maxLength ?? Number.POSITIVE_INFINITY)];
  if ((minLength === undefined && maxLength === undefined) || least > most) return {};
  return replaced(`[^]{${least},${most === Number.POSITIVE_INFINITY ? '' : most}}`);
}

/** Left out of JSON text. */
const NONE = { minLength: undefined, maxLength: undefined, format: undefined };
