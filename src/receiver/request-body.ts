/** Reads the exact bytes that the signature covers from Node's stream: a web stream would cost more than the rest. */
import type { IncomingMessage } from 'node:http';
import { MAX_BODY_BYTES } from '../store-api/contract/body-limit.ts';

/** Limit for all bodies in transfer or waiting for their commit. */
const MAX_HELD_BYTES = 64 << 20;
/** Larger bodies get half of it, so that slow large ones cannot crowd out the store's: those are a few kB. */
const SMALL_BODY_BYTES = 64 << 10;
const MAX_LARGE_BYTES = MAX_HELD_BYTES / 2;
/** Overhead of each piece: chunks, promises. A body may arrive one byte at a time. */
const PIECE_BYTES = 1_024;

export interface HeldBody {
  readonly bytes: Uint8Array;
  /** Returns its share of the budget. Call once, when nothing needs the bytes; that may be after the answer. */
  readonly release: () => void;
}

export class RequestBodies {
  #heldBytes = 0;
  #largeBytes = 0;

  /** @returns the body, or why it was not read. @throws Error if the connection closes before the end. */
  read(incoming: IncomingMessage): Promise<HeldBody | 'too_large' | 'no_room'> {
    if (Number(incoming.headers['content-length'] ?? 0) > MAX_BODY_BYTES) return Promise.resolve('too_large');
    return new Promise((resolve, reject) => {
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      let heldBytes = 0;
      const isLarge = (): boolean => heldBytes > SMALL_BODY_BYTES;
      const hold = (moreBytes: number): void => {
        const wasLarge = isLarge();
        heldBytes += moreBytes;
        this.#heldBytes += moreBytes;
        if (isLarge()) this.#largeBytes += wasLarge ? moreBytes : heldBytes;
      };
      const release = (): void => {
        this.#heldBytes -= heldBytes;
        if (isLarge()) this.#largeBytes -= heldBytes;
      };
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
        hold(chunk.byteLength + PIECE_BYTES);
        const hasRoom =
          this.#heldBytes <= MAX_HELD_BYTES && (!isLarge() || this.#largeBytes <= MAX_LARGE_BYTES);
        if (bytes > MAX_BODY_BYTES) refuse('too_large');
        else if (!hasRoom) refuse('no_room');
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
