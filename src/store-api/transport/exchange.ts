/**
 * One POST and its whole answer, over undici's inner interface. The outer one wraps every answer in a stream and
 * every request in a signal: a tenth of the processor time of a read, all of it between one request and the next.
 */
import { Buffer } from 'node:buffer';
import type { Dispatcher } from 'undici';

interface Post {
  readonly origin: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

interface WholeAnswer {
  readonly status: number;
  /** Names in lowercase. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Uint8Array;
}

interface Exchange {
  /** Rejects with undici's errors, or with the reason of `abort`. */
  readonly answer: Promise<WholeAnswer>;
  /** At once, even while the request waits for a connection: it is then never sent. */
  readonly abort: (reason: Error) => void;
}

export function exchange(dispatcher: Dispatcher, post: Post): Exchange {
  const { promise, resolve, reject } = Promise.withResolvers<WholeAnswer>();
  let started: Dispatcher.DispatchController | null = null;
  let aborted: Error | null = null;
  let status = 0;
  let headers: WholeAnswer['headers'] = {};
  const chunks: Buffer[] = [];
  dispatcher.dispatch(
    { ...post, method: 'POST' },
    {
      onRequestStart(controller) {
        if (aborted === null) started = controller;
        else controller.abort(aborted);
      },
      // Called more than once when the other side sends informational headers before its answer: the last call
      // counts.
      onResponseStart(_controller, code, given) {
        status = code;
        headers = given;
      },
      onResponseData: (_controller, chunk) => void chunks.push(chunk),
      onResponseEnd() {
        const [only] = chunks;
        resolve({ status, headers, body: chunks.length === 1 && only ? only : Buffer.concat(chunks) });
      },
      onResponseError: (_controller, error) => reject(error),
    },
  );
  const abort = (reason: Error): void => {
    aborted = reason;
    started?.abort(reason);
    reject(reason);
  };
  return { answer: promise, abort };
}
