import type { ResponseFormat, Tool } from '../contracts/index.ts';

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isRecord = (
  value: unknown,
): value is { readonly [field: string]: unknown; readonly type?: unknown; readonly name?: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What the fields of each format must be. */
const CHECKS: Record<ResponseFormat['type'], (format: Readonly<Record<string, unknown>>) => boolean> = {
  text: () => true,
  json_object: () => true,
  json_schema: ({ schema }) => typeof schema === 'boolean' || isRecord(schema),
  regex: ({ pattern }) => isText(pattern),
  choice: ({ choices }) => Array.isArray(choices) && choices.length > 0 && choices.every(isText),
  grammar: ({ grammar }) => isText(grammar),
  tool_calls: ({ tools, required, parallel }) =>
    Array.isArray(tools) &&
    tools.length > 0 &&
    tools.every(isTool) &&
    typeof required === 'boolean' &&
    typeof parallel === 'boolean',
};

export const RESPONSE_FORMATS = Object.keys(CHECKS);

export function isResponseFormat(value: unknown): value is ResponseFormat {
  if (!isRecord(value) || !RESPONSE_FORMATS.includes(String(value.type))) return false;
  return CHECKS[value.type as ResponseFormat['type']](value);
}

function isTool(value: unknown): value is Tool {
  return isRecord(value) && typeof value.name === 'string' && /^[\w.-]{1,64}$/.test(value.name);
}
