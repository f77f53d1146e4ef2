const JSON_SCHEMA = '"response_format": {"type": "json_schema", "json_schema": {"name": …, "schema": …}}';
const JSON_OBJECT = '"response_format": {"type": "json_object"}';

/** What does here what other servers have these fields for. */
const INSTEAD: Readonly<Record<string, string>> = {
  // vLLM
  guided_json: JSON_SCHEMA,
  guided_json_object: JSON_OBJECT,
  structured_outputs: `its part as a field of its own: json as ${JSON_SCHEMA}, json_object as ${JSON_OBJECT}, regex as "guided_regex", choice as "guided_choice", grammar as "guided_grammar"`,
  structural_tag: '"tools"',
  allowed_token_ids: '"logit_bias", with 100 for each of them',
  request_id: 'the header "x-request-id"',
  // OpenAI
  functions: '"tools"',
  function_call: '"tool_choice"',
  max_output_tokens: '"max_tokens"',
  // SGLang and llama.cpp
  regex: '"guided_regex"',
  ebnf: '"guided_grammar"',
  grammar: '"guided_grammar", in EBNF',
  json_schema: JSON_SCHEMA,
  max_new_tokens: '"max_tokens"',
  min_new_tokens: '"min_tokens"',
  n_predict: '"max_tokens"',
  repeat_penalty: '"repetition_penalty"',
  n_probs: '"logprobs"',
};

/** What holds here whatever such a field of vLLM's says. */
const ALWAYS: Readonly<Record<string, string>> = {
  guided_decoding_backend: 'XGrammar compiles every grammar',
  guided_whitespace_pattern: 'JSON always comes on one line',
};

/** What to do about a field that a request's schema does not know; `path` is its name, with what it lies in before it. */
export function unknownField(path: string): string {
  if (Object.hasOwn(INSTEAD, path)) return `this field is not supported; instead give ${INSTEAD[path]}`;
  if (Object.hasOwn(ALWAYS, path)) return `this field is not supported; remove it, for ${ALWAYS[path]}`;
  return 'this field is unknown or not supported; remove it';
}
