/**
 * A request's body as the bytes that came, which is what the signature is over. From Node's own stream: a web stream
 * around it costs more than all the rest of a request.
 */
import type { IncomingMessage } from 'node:http';

/** 1 MB (docs/http-api.md#public-listener). */
const MAX_BODY_BYTES = 1 << 20;
/** Bodies on their way beyond this together are refused: who may not sign may still send. */
const MAX_HELD_BYTES = 128 << 20;

export class RequestBodies {
  #heldBytes = 0;

  /**
   * Reads one body and hands it to `use`; its memory counts until that has settled.
   * @returns what `use` returns, or why it was not called.
   * @throws Error when the request is cut off in its middle.
   */
  async read<T>(
    incoming: IncomingMessage,
    use: (body: Uint8Array) => Promise<T>,
  ): Promise<T | 'too_large' | 'no_room'> {
    if (Number(incoming.headers['content-length'] ?? 0) > MAX_BODY_BYTES) return 'too_large';
    let bytes = 0;
    const take = (chunk: Uint8Array): 'too_large' | 'no_room' | null => {
      bytes += chunk.byteLength;
      this.#heldBytes += chunk.byteLength;
      if (bytes > MAX_BODY_BYTES) return 'too_large';
      return this.#heldBytes > MAX_HELD_BYTES ? 'no_room' : null;
    };
    try {
      const body = await collect(incoming, take);
      return typeof body === 'string' ? body : await use(body);
    } finally {
      this.#heldBytes -= bytes;
    }
  }
}

/** @param take told of every piece; what it returns, unless null, ends the reading. */
function collect<R extends string>(
  incoming: IncomingMessage,
  take: (chunk: Uint8Array) => R | null,
): Promise<Uint8Array | R> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    const settle = (): void => {
      incoming.off('data', onData).off('end', onEnd).off('error', onCut).off('close', onCut);
    };
    const onData = (chunk: Uint8Array): void => {
      const refusal = take(chunk);
      if (refusal === null) {
        chunks.push(chunk);
        return;
      }
      settle();
      resolve(refusal);
    };
    const onEnd = (): void => {
      settle();
      const [only] = chunks;
      resolve(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks));
    };
    const onCut = (error?: Error): void => {
      settle();
      reject(error ?? new Error('the connection was closed'));
    };
    incoming.on('data', onData).on('end', onEnd).on('error', onCut).on('close', onCut);
    if (incoming.destroyed) onCut();
  });
}
