/**
 * Answers that stay open: streams and long polls. Their number is limited, the process buffers only what it is sending,
 * the kernel holds a few pages of each, and all end at once when the mirror stops.
 */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from 'hono';
import type { Logger } from '../../platform/log.ts';
import { SendQueues } from '../../platform/send-queues.ts';
import { errorBody } from '../shared/api-error.ts';
import type { OpsEnv } from '../shared/env.ts';

interface HeldAnswersDeps {
  /** Aborted when the mirror stops. */
  readonly stopping: AbortSignal;
  readonly log: Logger;
}

const MOST = 100;
/** A reader that takes nothing for this long is disconnected; it resumes where it was when it reconnects. */
const STALLED_MS = 10_000;
/** After so much more was sent, the reader must have taken all but this of it before it is sent anything else. */
const MOST_UNTAKEN_BYTES = 256 << 10;
/** Each restarts the clock above: a slow reader takes a large chunk for longer. */
const PIECE_BYTES = 64 << 10;
const LOOK_AGAIN_MS = 250;

const encoder = new TextEncoder();

/** The next chunk is made when the previous one is on its way: each may be large. */
type Chunks = (signal: AbortSignal) => AsyncGenerator<string | Uint8Array, void, undefined>;

export class HeldAnswers {
  readonly #stopping: AbortSignal;
  readonly #log: Logger;
  readonly #queues = new SendQueues();
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
    const signal = AbortSignal.any([this.#stopping, ending.signal]);
    const gone = c.req.raw.signal;
    const source = chunks(signal);
    let stalled: NodeJS.Timeout | undefined;
    let isSending = false;
    let isCancelled = false;
    const socket = c.env?.incoming?.socket;
    let sentBytes = 0;
    /** Of the chunk that is being sent. */
    let left: Uint8Array = new Uint8Array(0);
    // What is left unsent after a mere end, the kernel would keep for minutes.
    const cut = (): void => void socket?.resetAndDestroy();
    const cutStalled = (): void => {
      this.#log.info('a stream was closed: its reader took nothing for a while');
      cut();
    };
    const end = (): void => {
      clearTimeout(stalled);
      this.#stopping.removeEventListener('abort', onStop);
      gone.removeEventListener('abort', end);
      ending.abort();
      release();
    };
    const onStop = (): void => {
      // A reader that takes nothing would not see the end either.
      if (isSending) cut();
    };
    this.#stopping.addEventListener('abort', onStop);
    gone.addEventListener('abort', end);

    const body = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          clearTimeout(stalled);
          try {
            if (socket !== undefined && sentBytes >= MOST_UNTAKEN_BYTES) {
              sentBytes = 0;
              if (!(await this.#isTaken(socket))) cutStalled();
            }
            isSending = false;
            if (left.byteLength === 0) {
              const next = await source.next();
              // The caller has left: there is nothing to write to or close.
              if (isCancelled) return;
              if (next.done === true) {
                end();
                controller.close();
                return;
              }
              left = typeof next.value === 'string' ? encoder.encode(next.value) : next.value;
            }
            const piece = left.subarray(0, PIECE_BYTES);
            left = left.subarray(piece.byteLength);
            sentBytes += piece.byteLength;
            controller.enqueue(piece);
            isSending = true;
            stalled = setTimeout(cutStalled, STALLED_MS);
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

  /** Waits until the reader has taken nearly all that was sent. @returns false: it takes nothing. */
  async #isTaken(socket: Socket): Promise<boolean> {
    let least = Number.POSITIVE_INFINITY;
    let sinceMs = performance.now();
    for (let waitMs = 10; !socket.destroyed; waitMs = Math.min(2 * waitMs, LOOK_AGAIN_MS)) {
      const untaken = await this.#queues.unacknowledged(socket);
      if (untaken === null || untaken <= MOST_UNTAKEN_BYTES) break;
      const nowMs = performance.now();
      if (untaken < least) [least, sinceMs] = [untaken, nowMs];
      else if (nowMs - sinceMs >= STALLED_MS) return false;
      await sleep(waitMs, undefined, { ref: false });
    }
    return true;
  }
}

const SERVER_SENT = 'text/event-stream; charset=utf-8';
const HEADERS = {
  'Cache-Control': 'no-store',
  // Proxies that buffer answers would hold events back.
  'X-Accel-Buffering': 'no',
};
