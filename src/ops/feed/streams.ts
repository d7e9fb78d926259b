/** Server-sent events. A client that stops reading is disconnected by `src/platform/listen.ts`. */
import { ReadableStream } from 'node:stream/web';
import type { Context } from 'hono';
import type { Logger } from '../../platform/log.ts';
import { errorBody } from '../shared/error-body.ts';
import { addressOf, type OpsEnv } from '../shared/env.ts';

interface StreamsDeps {
  readonly stopping: AbortSignal;
  readonly log: Logger;
}

/** Per client, so that one that leaks connections does not affect others. */
const MOST = 100;

export class Streams {
  readonly #deps: StreamsDeps;
  /** Open streams, by the client's address. */
  readonly #open = new Map<string, Set<AbortSignal>>();

  constructor(deps: StreamsDeps) {
    this.#deps = deps;
  }

  /** Each chunk is made when the socket has taken the one before. */
  answer(c: Context<OpsEnv>, chunks: (signal: AbortSignal) => AsyncIterable<string>) {
    const { stopping, log } = this.#deps;
    const client = addressOf(c);
    const open = this.#open.get(client) ?? new Set();
    if (open.size >= MOST) {
      c.header('Retry-After', '5');
      const words = `${client} holds ${MOST} streams: close one, or try again later`;
      return c.json(errorBody('too_many_streams', words), 503);
    }
    const headers = {
      'Content-Type': 'text/event-stream; charset=utf-8',
      // Keeps proxies from compressing or buffering events.
      'Cache-Control': 'no-store, no-transform',
      'X-Accel-Buffering': 'no',
    };
    if (c.req.method === 'HEAD') return c.body(null, 200, headers);
    const signal = AbortSignal.any([stopping, c.req.raw.signal]);
    this.#open.set(client, open.add(signal));
    const release = (): void => {
      open.delete(signal);
      if (open.size === 0) this.#open.delete(client);
    };
    signal.addEventListener('abort', release);
    async function* bytes() {
      try {
        const encoder = new TextEncoder();
        for await (const chunk of chunks(signal)) yield encoder.encode(chunk);
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, 'a stream ended early');
        throw error;
      } finally {
        release();
      }
    }
    return c.body(ReadableStream.from(bytes()) as never, 200, headers);
  }
}
