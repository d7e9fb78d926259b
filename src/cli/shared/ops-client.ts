/** Talks to the private listener of a running mirror (docs/http-api.md#private-listener). */
import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import { RUN_STATES } from '../../core/runs.ts';
import type { RequestInit } from 'undici';
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
  /**
   * Server-sent events, until the mirror or the signal ends them.
   *
   * @throws NoAnswerError when nothing listens there, or the connection breaks or falls silent.
   * @throws Error as `get`.
   */
  events(path: string, signal: AbortSignal): AsyncIterable<ServerEvent>;
}

export interface ServerEvent {
  readonly name: string;
  readonly data: unknown;
}

/** Something listens, but a request to it came to no answer. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

/** The mirror refuses, or another program listens. */
class RefusedError extends Error {}

/** The mirror asks for a token that this command does not have. */
export class WrongTokenError extends RefusedError {
  override readonly name = 'WrongTokenError';
}

const TIMEOUT_MS = 10_000;
const errorSchema = z.object({ error: z.string(), error_description: z.string() });

export function opsClient({ host, port, token }: Omit<Config['ops'], 'readToken'>): OpsClient {
  const base = baseUrlOf({ host, port });
  const authorization = token === null ? {} : { authorization: `Bearer ${token.reveal()}` };

  const noAnswer = (error: unknown): NoAnswerError => {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    return new NoAnswerError(`${base} gives no answer: is it stock-mirror's OPS_HOST and OPS_PORT?`, {
      cause,
    });
  };
  const call = async <T>(path: string, init: RequestInit, schema: z.ZodType<T>): Promise<T | null> => {
    let response;
    let text;
    try {
      response = await fetchDirectly(base + path, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
      text = await response.text();
    } catch (error) {
      if (isRefused(error)) return null;
      throw noAnswer(error);
    }
    return understand(base, response.status, text, schema);
  };
  async function* events(path: string, signal: AbortSignal): AsyncGenerator<ServerEvent> {
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(), TIMEOUT_MS);
    try {
      const response = await fetchDirectly(base + path, {
        headers: authorization,
        signal: AbortSignal.any([signal, silence.signal]),
      });
      if (!response.ok || response.body === null) {
        understand(base, response.status, await response.text(), z.never());
      }
      let rest = '';
      for await (const text of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
        timer.refresh();
        const blocks = (rest + text).split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) yield eventOf(block);
      }
    } catch (error) {
      throw error instanceof RefusedError ? error : noAnswer(error);
    } finally {
      clearTimeout(timer);
    }
  }
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
    events,
  };
}

function eventOf(block: string): ServerEvent {
  const field = (name: string): string | undefined =>
    block
      .split('\n')
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2);
  return { name: field('event') ?? 'message', data: parseJson(field('data') ?? 'null') };
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
    throw new RefusedError(`the mirror at ${base} refused the request: ${error}: ${description}`);
  }
  throw new RefusedError(
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
