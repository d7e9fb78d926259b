import type { z } from 'zod';
import type { ErrorCode, ErrorStatus } from '../shared/errors.ts';
import type { Answer } from '../network/reads.ts';

/** The caller, and how old the truth is that it is shown: `ageMs`. */
interface Asked {
  readonly requestId: string;
  readonly clientId: string;
  readonly ageMs: number;
}

/** The errors of an endpoint, besides those of every endpoint, with their codes. */
export type DocumentedErrors = Readonly<Partial<Record<ErrorStatus, readonly ErrorCode[]>>>;

/** One `/v1` endpoint: its request and its answer. */
export interface Endpoint {
  readonly path: string;
  readonly summary: string;
  readonly schema: z.ZodObject;
  readonly bodyOptional: boolean;
  /** The body of a 200. */
  readonly answers: z.ZodObject;
  readonly errors: DocumentedErrors;
  answer(body: Record<string, unknown>, asked: Asked): Answer;
}

/** Checks the bodies' types against their schemas, then erases them, so that endpoints share one table. */
export function endpoint<Schema extends z.ZodObject, Answers extends z.ZodObject>(
  definition: Omit<Endpoint, 'schema' | 'answers' | 'answer'> & {
    readonly schema: Schema;
    readonly answers: Answers;
    /** Throws ApiError for the errors. */
    answer(body: z.output<Schema>, asked: Asked): z.input<Answers>;
  },
): Endpoint {
  return {
    ...definition,
    answer: (body, asked) => ({ status: 200, body: definition.answer(body as z.output<Schema>, asked) }),
  };
}
