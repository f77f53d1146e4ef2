import type { ResponseFormat, Tool } from '../contracts/index.ts';
import { isRecord } from '../is-record.ts';

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

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
  if (!isRecord(value)) return false;
  const { type } = value;
  return RESPONSE_FORMATS.includes(String(type)) && CHECKS[type as ResponseFormat['type']](value);
}

function isTool(value: unknown): value is Tool {
  if (!isRecord(value)) return false;
  const { name } = value;
  return typeof name === 'string' && /^[\w.-]{1,64}$/.test(name);
}
