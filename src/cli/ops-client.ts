/** Talks to a running server's private listener. */
import { z } from 'zod';
import type { Config } from '../config.ts';

export const runViewSchema = z.object({
  run_id: z.number(),
  kind: z.string(),
  state: z.enum(['running', 'done', 'failed']),
  started_at: z.number(),
  finished_at: z.number().nullable(),
  total: z.number(),
  done: z.number(),
  drift: z.number(),
  failed: z.number(),
  error: z.string().nullable(),
});

const errorSchema = z.object({ error: z.string(), error_description: z.string() });

export interface OpsClient {
  /** Null when no server listens there. @throws Error when one refuses, or answers what is not ours. */
  get<T>(path: string, schema: z.ZodType<T>): Promise<T | null>;
  post<T>(path: string, body: unknown, schema: z.ZodType<T>): Promise<T | null>;
}

const TIMEOUT_MS = 10_000;

export function opsClient(config: Config): OpsClient {
  const { host, port, token } = config.ops;
  // A listener on every address is reached on this machine's own.
  const reachable =
    host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  const base = `http://${reachable}:${port}`;
  const call = async <T>(path: string, init: RequestInit, schema: z.ZodType<T>): Promise<T | null> => {
    let response;
    try {
      response = await fetch(base + path, {
        ...init,
        headers: {
          ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(token === null ? {} : { authorization: `Bearer ${token.reveal()}` }),
        },
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
    } catch (error) {
      if (isRefused(error)) return null;
      throw new Error(`cannot reach the server at ${base}`, { cause: error });
    }
    const json: unknown = await response.json().catch(() => null);
    if (response.ok) {
      const parsed = schema.safeParse(json);
      if (parsed.success) return parsed.data;
    }
    const refusal = errorSchema.safeParse(json);
    if (refusal.success) {
      throw new Error(
        `the server at ${base} refused: ${refusal.data.error}: ${refusal.data.error_description}`,
      );
    }
    throw new Error(
      `what listens at ${base} is not stock-mirror (status ${response.status}): correct OPS_HOST and OPS_PORT`,
    );
  };
  return {
    get: (path, schema) => call(path, { method: 'GET' }, schema),
    post: (path, body, schema) => call(path, { method: 'POST', body: JSON.stringify(body) }, schema),
  };
}

function isRefused(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  const causes = cause instanceof AggregateError ? (cause.errors as unknown[]) : [cause];
  return causes.some(
    (each) =>
      each instanceof Error && 'code' in each && (each.code === 'ECONNREFUSED' || each.code === 'ECONNRESET'),
  );
}
