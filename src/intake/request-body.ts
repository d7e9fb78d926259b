/**
 * A request's body as the bytes that came, which is what the signature is over. From Node's own stream: a web stream
 * around it costs more than all the rest of a request.
 */
import type { IncomingMessage } from 'node:http';

/** 1 MB (docs/http-api.md#public-listener). */
const MAX_BODY_BYTES = 1 << 20;
/** What bodies may take together. */
const MAX_HELD_BYTES = 128 << 20;
/** What those may take that are not whole yet. Beyond either, the oldest of these give way. */
const MAX_PARTIAL_BYTES = 48 << 20;
/** When there is none of these: deliveries are rarely larger, and find room beside a full allowance. */
const SMALL_BODY_BYTES = 64 << 10;
const MAX_BESIDE_BYTES = 32 << 20;
/** When room is short, so much of it is made at once: making it looks at every sender. */
const ROOM_MADE_BYTES = 8 << 20;
/** A piece takes more than its bytes: a body may come a byte at a time. */
const PIECE_BYTES = 256;

/** A body whose end has not come yet. */
interface Partial {
  held: number;
  readonly beganAtMs: number;
  readonly sender: Sender;
  readonly giveWay: () => void;
}

/** Who sends from one address. */
interface Sender {
  readonly address: string;
  held: number;
  /** The oldest first. */
  readonly partials: Set<Partial>;
}

/** A body that is whole. */
interface HeldBody {
  readonly bytes: Uint8Array;
  /** To be called once, when nothing needs the bytes any more. */
  readonly letGo: () => void;
}

export class RequestBodies {
  #heldBytes = 0;
  #partialBytes = 0;
  /** Those with a body that is not whole yet. */
  readonly #senders = new Map<string, Sender>();

  /**
   * @returns the body, whose memory counts until it is let go; or why it was not read.
   * @throws Error when the request is cut off in its middle.
   */
  async read(incoming: IncomingMessage): Promise<HeldBody | 'too_large' | 'no_room'> {
    const declared = Number(incoming.headers['content-length'] ?? Number.NaN);
    if (declared > MAX_BODY_BYTES) return 'too_large';
    let bytes = 0;
    let held = 0;
    let partial: Partial | undefined;
    const letGo = (): void => {
      this.#forget(partial);
      this.#heldBytes -= held;
      held = 0;
    };
    const take = (chunk: Uint8Array, refuse: (why: 'no_room') => void): 'too_large' | 'no_room' | null => {
      const taken = chunk.byteLength + PIECE_BYTES;
      bytes += chunk.byteLength;
      held += taken;
      this.#heldBytes += taken;
      if (bytes > MAX_BODY_BYTES) return 'too_large';
      if (bytes === declared) {
        this.#forget(partial);
      } else {
        partial ??= this.#begin(incoming, () => {
          letGo();
          refuse('no_room');
        });
        partial.held += taken;
        partial.sender.held += taken;
        this.#partialBytes += taken;
      }
      if (this.#heldBytes <= MAX_HELD_BYTES && this.#partialBytes <= MAX_PARTIAL_BYTES) return null;
      this.#makeRoom();
      const most = bytes <= SMALL_BODY_BYTES ? MAX_HELD_BYTES + MAX_BESIDE_BYTES : MAX_HELD_BYTES;
      return this.#heldBytes > most ? 'no_room' : null;
    };
    let body: Uint8Array | 'too_large' | 'no_room' | null = null;
    try {
      body = await collect(incoming, take);
      this.#forget(partial);
      return typeof body === 'string' ? body : { bytes: body, letGo };
    } finally {
      if (body === null || typeof body === 'string') letGo();
    }
  }

  #begin(incoming: IncomingMessage, giveWay: () => void): Partial {
    const address = remoteAddressOf(incoming) ?? '';
    const sender = this.#senders.get(address) ?? { address, held: 0, partials: new Set() };
    this.#senders.set(address, sender);
    const partial: Partial = { held: 0, beganAtMs: performance.now(), sender, giveWay };
    sender.partials.add(partial);
    return partial;
  }

  /** It is whole, or given up. */
  #forget(partial: Partial | undefined): void {
    if (partial?.sender.partials.delete(partial) !== true) return;
    const { sender } = partial;
    sender.held -= partial.held;
    this.#partialBytes -= partial.held;
    if (sender.partials.size === 0) this.#senders.delete(sender.address);
  }

  /** The oldest of whoever holds most for longest give way: what a store sends is whole within moments. */
  #makeRoom(): void {
    const isShort = (): boolean =>
      this.#heldBytes > MAX_HELD_BYTES - ROOM_MADE_BYTES ||
      this.#partialBytes > MAX_PARTIAL_BYTES - ROOM_MADE_BYTES;
    while (isShort()) {
      const oldest = this.#oldestOfTheGreediest();
      if (oldest === null) return;
      oldest.giveWay();
    }
  }

  #oldestOfTheGreediest(): Partial | null {
    const nowMs = performance.now();
    let found: Partial | null = null;
    let most = -1;
    for (const { held, partials } of this.#senders.values()) {
      const [oldest] = partials;
      if (oldest === undefined) continue;
      const byteMs = held * (nowMs - oldest.beganAtMs);
      if (byteMs <= most) continue;
      most = byteMs;
      found = oldest;
    }
    return found;
  }
}

/** Who is at the other end of the connection, which may be a proxy. */
export function remoteAddressOf(incoming: { readonly socket?: IncomingMessage['socket'] }): string | null {
  return incoming.socket?.remoteAddress ?? null;
}

/**
 * @param take called with every piece; what it returns, unless null, ends the reading. So does a call of its second
 * argument at any later time.
 */
function collect<R extends string>(
  incoming: IncomingMessage,
  take: (chunk: Uint8Array, refuse: (why: R) => void) => R | null,
): Promise<Uint8Array | R> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    const settle = (): void => {
      incoming.off('data', onData).off('end', onEnd).off('error', onCut).off('close', onCut);
    };
    const refuse = (why: R): void => {
      settle();
      chunks.length = 0;
      resolve(why);
    };
    const onData = (chunk: Uint8Array): void => {
      const refusal = take(chunk, refuse);
      if (refusal === null) chunks.push(chunk);
      else refuse(refusal);
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
