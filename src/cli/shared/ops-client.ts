/** Talks to the private listener of a running mirror (docs/http-api.md#private-listener). */
import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import { MIRROR_STATES } from '../../mirror/file/state.ts';
import { causeShape, errorShape, runShape } from '../../ops/shared/shapes.ts';
import { fetchDirectly } from '../../platform/proxy.ts';
import { lockIdOf } from '../../sqlite/lock.ts';
import { baseUrlOf } from './listener-url.ts';

export const runViewSchema = z.object(runShape);
export type RunView = z.infer<typeof runViewSchema>;

/** The fields of `/api/status` that are always present; a host that only receives has the first two. */
export const stateSchema = z.looseObject({
  database: z.string().optional(),
  lock_id: z.string().nullable().optional(),
  state: z.enum(MIRROR_STATES),
  causes: z.array(z.object(causeShape)).readonly(),
});

export interface OpsClient {
  /** null if nothing listens. @throws NoAnswerError; Error if the mirror refuses, or another program listens. */
  get<T>(path: string, schema: z.ZodType<T>): Promise<T | null>;
  post<T>(path: string, body: unknown, schema: z.ZodType<T>): Promise<T | null>;
}

/** The connection broke or timed out, or the mirror cannot answer at the moment. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

const TIMEOUT_MS = 10_000;
const errorSchema = z.object(errorShape);

export function opsClient({ host, port, token, readToken }: Config['ops']): OpsClient {
  const base = baseUrlOf({ host, port });
  const bearer = token ?? readToken;
  const headers = {
    'content-type': 'application/json',
    ...(bearer === null ? {} : { authorization: `Bearer ${bearer.reveal()}` }),
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
      const message =
        `${base} does not answer: if OPS_HOST and OPS_PORT are those of the mirror, ` +
        'see its log or restart it';
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

/**
 * The status of the process that serves the database; null if none of its role listens.
 * @throws Error if another one listens, so that no command acts on the wrong mirror.
 */
export async function statusOfOwn(
  { ops, database, role }: Pick<Config, 'ops' | 'database' | 'role'>,
  client = opsClient(ops),
): Promise<z.infer<typeof stateSchema> | null> {
  const status = await client.get('/api/status', stateSchema);
  if (status === null) return null;
  const isOnlyReceiver = status.database === undefined;
  if (isOnlyReceiver && role !== 'receiver') return null;
  // A mirror that holds no file yet can do nothing.
  if (isOnlyReceiver || status.lock_id === undefined || status.lock_id === null) return status;
  const own = lockIdOf(database.path);
  if (own !== null && own === status.lock_id) return status;
  throw new Error(
    `the mirror at ${baseUrlOf(ops)} has the file ${status.database ?? 'of another path'}, ` +
      `not ${database.path}: correct DATABASE_PATH, or OPS_HOST and OPS_PORT`,
  );
}

function refusal(base: string, status: number, json: unknown): Error {
  const { success, data } = errorSchema.safeParse(json);
  // Every mirror has the paths used here.
  if (!success || status === 404) {
    return new Error(
      `the program at ${base} is not this mirror (it answered ${status}): correct OPS_HOST and OPS_PORT`,
    );
  }
  if (status === 401) {
    return new Error(
      `the mirror at ${base} requires its OPS_TOKEN, ` +
        'or OPS_READ_TOKEN for commands that only read: give this command the same value',
    );
  }
  const message = `the mirror at ${base} refused the request: ${data.error_description}`;
  return status === 503 ? new NoAnswerError(message) : new Error(message);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
