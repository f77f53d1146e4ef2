import type { ResponseFormat } from '../../core/contracts/index.ts';
import { invalidField } from '../errors.ts';
import type { SamplingFields } from './schemas.ts';

type GuidanceFields = Pick<SamplingFields, 'response_format' | 'guided_regex' | 'guided_choice' | 'guided_grammar'>;

/**
 * What the text must look like, as OpenAI and as vLLM write it; undefined: any text.
 * @throws RxllmError `RXLLM_INVALID_REQUEST` for more than one of the fields, and for a schema that is missing
 */
export function toResponseFormat(body: GuidanceFields): ResponseFormat | undefined {
  const { guided_regex: pattern, guided_choice: choices, guided_grammar: grammar } = body;
  const given: readonly (readonly [field: string, format: ResponseFormat])[] = [
    ...jsonFormat(body.response_format),
    ...(pattern === undefined ? [] : [['guided_regex', { type: 'regex', pattern }] as const]),
    ...(choices === undefined ? [] : [['guided_choice', { type: 'choice', choices }] as const]),
    ...(grammar === undefined ? [] : [['guided_grammar', { type: 'grammar', grammar }] as const]),
  ];
  const [first, second] = given;
  if (second === undefined) return first?.[1];
  throw invalidField(second[0], `the text can follow one format only, and there is ${first![0]}`);
}

function jsonFormat(format: GuidanceFields['response_format']): (readonly ['response_format', ResponseFormat])[] {
  const schema = format?.json_schema?.schema;
  if (format?.type !== 'json_schema' && schema !== undefined) {
    throw invalidField('response_format.json_schema', 'it goes with the type "json_schema" only');
  }
  switch (format?.type) {
    case 'json_object':
      return [['response_format', { type: 'json_object' }]];
    case 'json_schema':
      if (schema === undefined) throw invalidField('response_format.json_schema', 'this field is required');
      return [['response_format', { type: 'json_schema', schema, strict: format.json_schema?.strict ?? false }]];
    default:
      return [];
  }
}
