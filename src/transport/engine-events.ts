import { catchError, type Observable } from 'rxjs';
import type { Engine, GenerateRequest, TokenEvent } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';

/** One generation's events; cold. An engine's errors speak of the `prompt`: here they name the field that brought it. */
export function engineEvents(engine: Engine, promptField: string, request: GenerateRequest): Observable<TokenEvent> {
  return engine.stream(request).pipe(
    catchError((error: unknown) => {
      throw aboutPrompt(error, promptField);
    }),
  );
}

/** The error with its `prompt` named as on the wire; any other error as it is. */
export function aboutPrompt(error: unknown, promptField: string): unknown {
  if (!(error instanceof RxllmError) || error.param !== 'prompt') return error;
  const message = error.message.replace(/^prompt:/, `${promptField}:`);
  return new RxllmError(error.code, message, { param: promptField, cause: error });
}
