/**
 * Answers that stay open: streams and long polls. There may only be so many, none makes the process hold more for it
 * than it is sending, and all end at once when the service stops.
 */
import type { Context } from 'hono';
import type { Logger } from '../../log.ts';
import { errorBody } from '../api-error.ts';
import type { OpsEnv } from '../env.ts';

export interface HeldAnswersDeps {
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal;
  readonly log: Logger;
}

const MOST = 100;
/** A reader that takes nothing for so long is cut; it goes on from where it was when it comes back. */
const STALLED_MS = 10_000;

const encoder = new TextEncoder();

/** What is sent next is made when the one before is on its way: each chunk may be large. */
export type Chunks = (signal: AbortSignal) => AsyncGenerator<string | Uint8Array, void, undefined>;

export class HeldAnswers {
  readonly #stopping: AbortSignal;
  readonly #log: Logger;
  #open = 0;

  constructor({ stopping, log }: HeldAnswersDeps) {
    this.#stopping = stopping;
    this.#log = log;
  }

  /** @returns what ends the hold; null when there are too many. */
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
    return c.json(errorBody('too_many_streams', `more than ${MOST} streams and long polls are open`), 503);
  }

  /** Aborted when the service stops or the caller is gone. */
  endOf(c: Context<OpsEnv>): AbortSignal {
    return AbortSignal.any([this.#stopping, c.req.raw.signal]);
  }

  /** An answer of server-sent events. @param release ends its hold. */
  stream(c: Context<OpsEnv>, chunks: Chunks, release: () => void): Response {
    if (c.req.raw.method === 'HEAD') {
      release();
      return c.body(null, 200, HEADERS);
    }
    const ending = new AbortController();
    const signal = AbortSignal.any([this.#stopping, ending.signal]);
    const gone = c.req.raw.signal;
    const source = chunks(signal);
    let stalled: NodeJS.Timeout | undefined;
    let isSending = false;
    let isCancelled = false;
    const cut = (): void => void c.env?.outgoing?.destroy();
    const end = (): void => {
      clearTimeout(stalled);
      this.#stopping.removeEventListener('abort', onStop);
      gone.removeEventListener('abort', end);
      ending.abort();
      release();
    };
    const onStop = (): void => {
      // One that takes nothing would not see the end either.
      if (isSending) cut();
    };
    this.#stopping.addEventListener('abort', onStop);
    gone.addEventListener('abort', end);

    const body = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          clearTimeout(stalled);
          isSending = false;
          try {
            const next = await source.next();
            // The caller has gone: there is nothing left to write to, nor to close.
            if (isCancelled) return;
            if (next.done === true) {
              end();
              controller.close();
              return;
            }
            controller.enqueue(typeof next.value === 'string' ? encoder.encode(next.value) : next.value);
            isSending = true;
            stalled = setTimeout(() => {
              this.#log.info('a stream was cut: its reader took nothing for a while');
              cut();
            }, STALLED_MS);
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
      // Nothing is made ahead of what the socket takes.
      { highWaterMark: 0 },
    );
    return c.body(body, 200, HEADERS);
  }
}

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  // Proxies that gather answers would hold events back.
  'X-Accel-Buffering': 'no',
};
