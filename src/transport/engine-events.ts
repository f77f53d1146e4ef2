import { catchError, type Observable } from 'rxjs';
import type { Engine, GenerateRequest, TokenEvent } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { completionRequest } from './schemas.ts';

/** One generation's events; cold. An engine's errors speak of its own fields: here they name those of the wire. */
export function engineEvents(engine: Engine, promptField: string, request: GenerateRequest): Observable<TokenEvent> {
  return engine.stream(request).pipe(
    catchError((error: unknown) => {
      throw inWireNames(error, promptField);
    }),
  );
}

/** `maxTokens` as `max_tokens`, `prompt` as the field that brought it; what the wire does not have stays as it is. */
export function inWireNames(error: unknown, promptField: string): unknown {
  if (!(error instanceof RxllmError) || error.param === undefined) return error;
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
