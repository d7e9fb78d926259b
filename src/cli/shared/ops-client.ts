/** Talks to the private listener of a running mirror (docs/http-api.md#private-listener). */
import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import { RUN_STATES } from '../../core/runs.ts';
import { baseUrlOf } from './listener-url.ts';

export const runViewSchema = z.object({
  run_id: z.number(),
  kind: z.string(),
  state: z.enum(RUN_STATES),
  started_at: z.number(),
  finished_at: z.number().nullable(),
  total: z.number(),
  done: z.number(),
  drift: z.number(),
  failed: z.number(),
  error: z.string().nullable(),
});

/** Why the mirror does not ask the store at the moment. */
export const blockedSchema = z.object({
  kind: z.string(),
  message: z.string(),
});

export interface OpsClient {
  /**
   * Null when nothing listens there.
   *
   * @throws NoAnswerError when the connection breaks or times out.
   * @throws Error when the mirror refuses, or when another program listens there.
   */
  get<T>(path: string, schema: z.ZodType<T>): Promise<T | null>;
  /** As `get`. */
  post<T>(path: string, body: unknown, schema: z.ZodType<T>): Promise<T | null>;
}

/** Something listens, but a request to it came to no answer. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

/** The mirror asks for a token that this command does not have. */
export class WrongTokenError extends Error {
  override readonly name = 'WrongTokenError';
}

const TIMEOUT_MS = 10_000;
const errorSchema = z.object({ error: z.string(), error_description: z.string() });

export function opsClient({ host, port, token }: Config['ops']): OpsClient {
  const base = baseUrlOf({ host, port });
  const authorization = token === null ? {} : { authorization: `Bearer ${token.reveal()}` };

  const call = async <T>(path: string, init: RequestInit, schema: z.ZodType<T>): Promise<T | null> => {
    let response;
    let text;
    try {
      response = await fetch(base + path, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
      text = await response.text();
    } catch (error) {
      if (isRefused(error)) return null;
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
      throw new NoAnswerError(`${base} gives no answer: is it stock-mirror's OPS_HOST and OPS_PORT?`, {
        cause,
      });
    }
    return understand(base, response.status, text, schema);
  };
  return {
    get: (path, schema) => call(path, { headers: authorization }, schema),
    post: (path, body, schema) =>
      call(
        path,
        {
          method: 'POST',
          headers: { ...authorization, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        },
        schema,
      ),
  };
}

function understand<T>(base: string, status: number, text: string, schema: z.ZodType<T>): T {
  const json = parseJson(text);
  if (status < 300) {
    const answer = schema.safeParse(json);
    if (answer.success) return answer.data;
  }
  const refusal = errorSchema.safeParse(json);
  if (refusal.success && status === 401) {
    throw new WrongTokenError(
      `the mirror at ${base} has another OPS_TOKEN: give this command the same token`,
    );
  }
  // The paths asked for exist in every mirror.
  if (refusal.success && status !== 404) {
    const { error, error_description: description } = refusal.data;
    throw new Error(`the mirror at ${base} refused the request: ${error}: ${description}`);
  }
  throw new Error(
    `another program listens at ${base}, not this mirror (it answered ${status}): correct OPS_HOST and OPS_PORT`,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isRefused(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  // A name with several addresses fails with one error for each.
  const causes = cause instanceof AggregateError ? (cause.errors as unknown[]) : [cause];
  return causes.some((each) => each instanceof Error && 'code' in each && each.code === 'ECONNREFUSED');
}
