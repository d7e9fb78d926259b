/** Talks to the private listener of a running mirror (docs/http-api.md#private-listener). */
import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import { RUN_STATES } from '../../core/runs.ts';
import { MIRROR_STATES } from '../../mirror/file/state.ts';
import { CAUSE_CODES, OWNERS, SEVERITIES } from '../../ops/state/causes.ts';
import { fetchDirectly } from '../../platform/proxy.ts';
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
export type RunView = z.infer<typeof runViewSchema>;

/** The part of `/api/status` that is never missing. */
export const stateSchema = z.looseObject({
  state: z.enum(MIRROR_STATES),
  causes: z
    .array(
      z.object({
        code: z.enum(CAUSE_CODES),
        severity: z.enum(SEVERITIES),
        since: z.number().nullable(),
        owner: z.enum(OWNERS),
        message: z.string(),
        remedy: z.string(),
      }),
    )
    .readonly(),
});

export interface OpsClient {
  /**
   * null: nothing listens there.
   *
   * @throws NoAnswerError when the connection breaks or times out, or the mirror cannot answer at the moment.
   * @throws Error when the mirror refuses, or when another program listens there.
   */
  get<T>(path: string, schema: z.ZodType<T>): Promise<T | null>;
  /** Like `get`. */
  post<T>(path: string, body: unknown, schema: z.ZodType<T>): Promise<T | null>;
}

/** The listener gave no answer, or cannot answer at the moment. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

/** The mirror asks for a token that this command does not have. */
export class WrongTokenError extends Error {
  override readonly name = 'WrongTokenError';
}

const TIMEOUT_MS = 10_000;
const errorSchema = z.object({ error: z.string(), error_description: z.string() });

export function opsClient({ host, port, token }: Omit<Config['ops'], 'readToken'>): OpsClient {
  const base = baseUrlOf({ host, port });
  const headers = {
    'content-type': 'application/json',
    ...(token === null ? {} : { authorization: `Bearer ${token.reveal()}` }),
  };
  const call = async <T>(
    path: string,
    init: { readonly method: string; readonly body?: string },
    schema: z.ZodType<T>,
  ): Promise<T | null> => {
    let status;
    let text;
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const response = await fetchDirectly(base + path, { ...init, headers, signal });
      status = response.status;
      text = await response.text();
    } catch (error) {
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
      if ((cause as NodeJS.ErrnoException).code === 'ECONNREFUSED') return null;
      const message = `${base} gives no answer: if it is OPS_HOST and OPS_PORT of the mirror, see its log, or restart it`;
      throw new NoAnswerError(message, { cause });
    }
    const json = parseJson(text);
    const answer = schema.safeParse(json);
    if (status < 300 && answer.success) return answer.data;
    throw refusal(base, status, json);
  };
  return {
    get: (path, schema) => call(path, { method: 'GET' }, schema),
    post: (path, body, schema) => call(path, { method: 'POST', body: JSON.stringify(body) }, schema),
  };
}

function refusal(base: string, status: number, json: unknown): Error {
  const { success, data } = errorSchema.safeParse(json);
  // The paths asked for exist in every mirror.
  if (!success || status === 404) {
    return new Error(
      `another program listens at ${base}, not this mirror (it answered ${status}): correct OPS_HOST and OPS_PORT`,
    );
  }
  if (status === 401) {
    return new WrongTokenError(
      `the mirror at ${base} has another OPS_TOKEN: give this command the same token`,
    );
  }
  const { error, error_description: description } = data;
  const message = `the mirror at ${base} refused the request: ${error}: ${description}`;
  return status === 503 ? new NoAnswerError(message) : new Error(message);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
