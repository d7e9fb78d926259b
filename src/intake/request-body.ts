/** Reads the exact bytes that the signature covers from Node's stream: a web stream would cost more than the rest. */
import type { IncomingMessage } from 'node:http';

/** 1 MB (docs/http-api.md#public-listener). */
const MAX_BODY_BYTES = 1 << 20;
/** Limit for all bodies in transfer or waiting for their commit. */
const MAX_HELD_BYTES = 64 << 20;
/** Overhead of each piece: chunks, promises, timers. A body may arrive one byte at a time. */
const PIECE_BYTES = 1_024;

export interface HeldBody {
  readonly bytes: Uint8Array;
  /** Returns its share of the budget. Call once, when nothing needs the bytes; that may be after the answer. */
  readonly release: () => void;
}

export class RequestBodies {
  #heldBytes = 0;

  /** @returns the body, or why it was not read. @throws Error if the connection closes before the end. */
  read(incoming: IncomingMessage): Promise<HeldBody | 'too_large' | 'no_room'> {
    if (Number(incoming.headers['content-length'] ?? 0) > MAX_BODY_BYTES) return Promise.resolve('too_large');
    return new Promise((resolve, reject) => {
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      const heldBytes = (): number => bytes + chunks.length * PIECE_BYTES;
      const release = (): void => void (this.#heldBytes -= heldBytes());
      const settle = (): void => {
        incoming.off('data', onData).off('end', onEnd).off('error', onCut).off('close', onCut);
      };
      const refuse = (why: 'too_large' | 'no_room'): void => {
        settle();
        release();
        resolve(why);
      };
      const onData = (chunk: Uint8Array): void => {
        chunks.push(chunk);
        bytes += chunk.byteLength;
        this.#heldBytes += chunk.byteLength + PIECE_BYTES;
        if (bytes > MAX_BODY_BYTES) refuse('too_large');
        else if (this.#heldBytes > MAX_HELD_BYTES) refuse('no_room');
      };
      const onEnd = (): void => {
        settle();
        const [only] = chunks;
        const body = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
        resolve({ bytes: body, release });
      };
      const onCut = (error?: Error): void => {
        settle();
        release();
        reject(error ?? new Error('the connection was closed'));
      };
      incoming.on('data', onData).on('end', onEnd).on('error', onCut).on('close', onCut);
      if (incoming.destroyed) onCut();
    });
  }
}
