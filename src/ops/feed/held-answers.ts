/**
 * Answers that stay open: streams and long polls. Their number is limited for each client, the process buffers only what it is sending,
 * a reader that stops reading is disconnected (`src/platform/listen.ts`), and all end when the mirror stops.
 */
import type { Context } from 'hono';
import type { Logger } from '../../platform/log.ts';
import { errorBody } from '../shared/api-error.ts';
import { addressOf, type OpsEnv } from '../shared/env.ts';

interface HeldAnswersDeps {
  /** Aborted when the mirror stops. */
  readonly stopping: AbortSignal;
  readonly log: Logger;
}

/** For each client, so that one that leaks connections takes no place of another. */
const MOST = 100;

const encoder = new TextEncoder();

/** The next chunk is made when the previous one is on its way: each may be large. */
type Chunks = (signal: AbortSignal) => AsyncGenerator<string | Uint8Array, void, undefined>;

export class HeldAnswers {
  readonly #stopping: AbortSignal;
  readonly #log: Logger;
  /** By the client's address. */
  readonly #open = new Map<string, number>();

  constructor({ stopping, log }: HeldAnswersDeps) {
    this.#stopping = stopping;
    this.#log = log;
  }

  /** @returns the release function; null when the client holds too many. */
  hold(c: Context<OpsEnv>): (() => void) | null {
    const client = addressOf(c);
    const open = this.#open.get(client) ?? 0;
    if (open >= MOST || this.#stopping.aborted) return null;
    this.#open.set(client, open + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const left = (this.#open.get(client) ?? 0) - 1;
      if (left > 0) this.#open.set(client, left);
      else this.#open.delete(client);
    };
  }

  tooMany(c: Context<OpsEnv>) {
    c.header('Retry-After', '5');
    const words = `${addressOf(c)} holds ${MOST} streams or long polls: close one, or try again later`;
    return c.json(errorBody('too_many_streams', words), 503);
  }

  /** Aborted when the mirror stops or the caller leaves. */
  endOf(c: Context<OpsEnv>): AbortSignal {
    return AbortSignal.any([this.#stopping, c.req.raw.signal]);
  }

  /** An answer of server-sent events, unless another type is given. @param release called at its end. */
  stream(c: Context<OpsEnv>, chunks: Chunks, release: () => void, type = SERVER_SENT): Response {
    const headers = { ...HEADERS, 'Content-Type': type };
    if (c.req.raw.method === 'HEAD') {
      release();
      return c.body(null, 200, headers);
    }
    const ending = new AbortController();
    const gone = c.req.raw.signal;
    const source = chunks(AbortSignal.any([this.#stopping, ending.signal]));
    let isCancelled = false;
    const end = (): void => {
      gone.removeEventListener('abort', end);
      ending.abort();
      release();
    };
    gone.addEventListener('abort', end);
    const body = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          try {
            const { done, value } = await source.next();
            // The caller has left: there is nothing to write to or close.
            if (isCancelled) return;
            if (done === true) {
              end();
              controller.close();
            } else {
              controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value);
            }
          } catch (error) {
            end();
            if (isCancelled) return;
            this.#log.warn({ err: error }, 'a stream ended early');
            controller.error(error);
          }
        },
        cancel: async () => {
          isCancelled = true;
          end();
          await source.return();
        },
      },
      // Nothing is made before the socket takes it.
      { highWaterMark: 0 },
    );
    return c.body(body, 200, headers);
  }
}

const SERVER_SENT = 'text/event-stream; charset=utf-8';
const HEADERS = {
  // Proxies that compress or buffer answers would hold events back.
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
};
