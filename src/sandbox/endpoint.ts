import type { z } from 'zod';
import type { Answer } from './reads.ts';

/** One `/v1` endpoint: what it takes, and what it answers from the truth as it was `ageMs` ago. */
export type Endpoint = {
  readonly path: string;
  readonly schema: z.ZodObject;
  readonly bodyOptional: boolean;
  answer(body: Record<string, unknown>, requestId: string, ageMs: number): Answer;
};

/** Ties the answer's body type to its schema, then forgets it, so that endpoints share one table. */
export function endpoint<Schema extends z.ZodObject>(definition: {
  path: string;
  schema: Schema;
  bodyOptional: boolean;
  answer(body: z.output<Schema>, requestId: string, ageMs: number): Answer;
}): Endpoint {
  return {
    ...definition,
    answer: (body, requestId, ageMs) => definition.answer(body as z.output<Schema>, requestId, ageMs),
  };
}
