/** Errors in the form of the store's (docs/http-api.md#private-listener). */
import { z } from '@hono/zod-openapi';

export const errorSchema = z
  .object({
    error: z.string().meta({ description: 'A code for programs.' }),
    error_description: z.string().meta({ description: 'A sentence for people that names the field.' }),
  })
  .openapi('Error');

type ErrorBody = z.infer<typeof errorSchema>;

export function errorBody(code: string, description: string): ErrorBody {
  return { error: code, error_description: description };
}
