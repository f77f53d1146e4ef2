import { catchError, type Observable } from 'rxjs';
import type { Engine, GenerateRequest, ResponseFormat, TokenEvent } from '../../core/contracts/index.ts';
import { RxllmError } from '../../core/errors.ts';
import { completionRequest } from './schemas.ts';

/** One generation's events; cold. An engine's errors speak of its own fields: here they name those of the wire. */
export function engineEvents(engine: Engine, promptField: string, request: GenerateRequest): Observable<TokenEvent> {
  return engine.stream(request).pipe(
    catchError((error: unknown) => {
      throw inWireNames(error, promptField, request.params?.responseFormat);
    }),
  );
}

/** The field that brings each format. */
const FORMAT_FIELDS: Record<ResponseFormat['type'], string> = {
  text: 'response_format',
  json_object: 'response_format',
  json_schema: 'response_format',
  regex: 'guided_regex',
  choice: 'guided_choice',
  grammar: 'guided_grammar',
  tool_calls: 'tools',
};

/** `maxTokens` as `max_tokens`, `prompt` as the field that brought it; what the wire does not have stays as it is. */
export function inWireNames(error: unknown, promptField: string, format?: ResponseFormat): unknown {
  if (!(error instanceof RxllmError) || error.param === undefined) return error;
  if (error.param === 'responseFormat') {
    const field = format === undefined ? 'response_format' : FORMAT_FIELDS[format.type];
    const text = error.message.replace(/^responseFormat/, field);
    return new RxllmError(error.code, text, { param: field, cause: error });
  }
  const isPrompt = error.param === 'prompt';
  const param = isPrompt ? promptField : wireName(error.param);
  const message = isPrompt
    ? error.message.replace(/^prompt:/, `${promptField}:`)
    : error.message.replaceAll(/\b[a-z]+(?:[A-Z][a-z]*)+\b/g, wireName);
  return new RxllmError(error.code, message, { param, cause: error });
}

function wireName(name: string): string {
  const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.hasOwn(completionRequest.properties, snake) ? snake : name;
}
