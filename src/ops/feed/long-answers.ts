/**
 * Answers that stay open: streams and long polls. A client that stops reading is disconnected by
 * `src/platform/listen.ts`.
 */
import { ReadableStream } from 'node:stream/web';
import type { Context } from 'hono';
import type { Logger } from '../../platform/log.ts';
import { errorBody } from '../shared/api-error.ts';
import { addressOf, type OpsEnv } from '../shared/env.ts';

interface LongAnswersDeps {
  readonly stopping: AbortSignal;
  readonly log: Logger;
}

/** Per client, so that one that leaks connections does not affect others. */
const MOST = 100;

export class LongAnswers {
  readonly #deps: LongAnswersDeps;
  /** Open answers, by the client's address. */
  readonly #open = new Map<string, number>();

  constructor(deps: LongAnswersDeps) {
    this.#deps = deps;
  }

  /** @returns the release function; null if the client holds too many. */
  hold(c: Context<OpsEnv>): (() => void) | null {
    const client = addressOf(c);
    const open = this.#open.get(client) ?? 0;
    if (open >= MOST) return null;
    this.#open.set(client, open + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
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

  endOf(c: Context<OpsEnv>): AbortSignal {
    return AbortSignal.any([this.#deps.stopping, c.req.raw.signal]);
  }

  /** Sends server-sent events. Each chunk is made when the socket has taken the one before. */
  stream(c: Context<OpsEnv>, chunks: (signal: AbortSignal) => AsyncIterable<string>) {
    const release = this.hold(c);
    if (release === null) return this.tooMany(c);
    if (c.req.method === 'HEAD') release();
    const signal = this.endOf(c);
    signal.addEventListener('abort', release);
    const { log } = this.#deps;
    async function* bytes() {
      try {
        const encoder = new TextEncoder();
        for await (const chunk of chunks(signal)) yield encoder.encode(chunk);
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, 'a stream ended early');
        throw error;
      } finally {
        release?.();
      }
    }
    return c.body(c.req.method === 'HEAD' ? null : (ReadableStream.from(bytes()) as never), 200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      // Keeps proxies from compressing or buffering events.
      'Cache-Control': 'no-store, no-transform',
      'X-Accel-Buffering': 'no',
    });
  }
}
