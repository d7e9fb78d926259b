/** Errors in the form of the store's (docs/http-api.md#private-listener). */
import type { ErrorBody } from './error-schema.ts';

export function errorBody(code: string, description: string): ErrorBody {
  return { error: code, error_description: description };
}
