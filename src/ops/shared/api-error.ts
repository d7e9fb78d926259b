/** Errors in the form of the store's (docs/http-api.md#private-listener). */
import { z } from '@hono/zod-openapi';
import { errorShape } from './shapes.ts';

export const errorSchema = z.object(errorShape).openapi('Error');

type ErrorBody = z.infer<typeof errorSchema>;

export function errorBody(code: string, description: string): ErrorBody {
  return { error: code, error_description: description };
}
