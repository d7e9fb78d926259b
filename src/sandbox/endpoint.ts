import type { z } from 'zod';
import type { Answer } from './reads.ts';

/** Who asks, and how old the truth is that is shown: of `ageMs` ago. */
export type Asked = { readonly requestId: string; readonly clientId: string; readonly ageMs: number };

/** One `/v1` endpoint: what it takes, and what it answers. */
export type Endpoint = {
  readonly path: string;
  readonly schema: z.ZodObject;
  readonly bodyOptional: boolean;
  answer(body: Record<string, unknown>, asked: Asked): Answer;
};

/** Ties the answer's body type to its schema, then forgets it, so that endpoints share one table. */
export function endpoint<Schema extends z.ZodObject>(definition: {
  path: string;
  schema: Schema;
  bodyOptional: boolean;
  answer(body: z.output<Schema>, asked: Asked): Answer;
}): Endpoint {
  return {
    ...definition,
    answer: (body, asked) => definition.answer(body as z.output<Schema>, asked),
  };
}
