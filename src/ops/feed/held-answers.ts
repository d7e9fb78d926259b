/**
 * Answers that stay open: streams and long polls. Their number is limited, the process buffers only what it is sending,
 * a reader that stops reading is disconnected (`src/platform/listen.ts`), and all end when the mirror stops.
 */
import type { Context } from 'hono';
import type { Logger } from '../../platform/log.ts';
import { errorBody } from '../shared/api-error.ts';
import type { OpsEnv } from '../shared/env.ts';

interface HeldAnswersDeps {
  /** Aborted when the mirror stops. */
  readonly stopping: AbortSignal;
  readonly log: Logger;
}

const MOST = 100;

const encoder = new TextEncoder();

/** The next chunk is made when the previous one is on its way: each may be large. */
type Chunks = (signal: AbortSignal) => AsyncGenerator<string | Uint8Array, void, undefined>;

export class HeldAnswers {
  readonly #stopping: AbortSignal;
  readonly #log: Logger;
  #open = 0;

  constructor({ stopping, log }: HeldAnswersDeps) {
    this.#stopping = stopping;
    this.#log = log;
  }

  /** @returns the release function; null when too many are open. */
  hold(): (() => void) | null {
    if (this.#open >= MOST || this.#stopping.aborted) return null;
    this.#open += 1;
    let isHeld = true;
    return () => {
      if (isHeld) this.#open -= 1;
      isHeld = false;
    };
  }

  tooMany(c: Context<OpsEnv>) {
    c.header('Retry-After', '5');
    return c.json(
      errorBody('too_many_streams', `more than ${MOST} streams and long polls are open: try again later`),
      503,
    );
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
  'Cache-Control': 'no-store',
  // Proxies that buffer answers would hold events back.
  'X-Accel-Buffering': 'no',
};
