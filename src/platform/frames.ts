/**
 * A stream of frames: four bytes with the length of a header, the header as JSON, and as many raw bytes as it says. For
 * answers that carry bodies as they came, and last for long.
 */

/** `bytes`: how many raw bytes follow; left out: none. */
type FrameHeader = Readonly<Record<string, unknown>> & { readonly bytes?: number };

export interface Frame {
  readonly header: FrameHeader;
  readonly payload: Uint8Array<ArrayBuffer>;
}

/** What comes is not such a stream. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
}

const LENGTH_BYTES = 4;
const MAX_HEADER_BYTES = 64 << 10;
/** Far beyond any entry, and any piece that a file is sent in. */
const MAX_PAYLOAD_BYTES = 64 << 20;

const NOTHING = new Uint8Array(0);
const encoder = new TextEncoder();

export function encodeFrame(header: FrameHeader, payload: Uint8Array = NOTHING): Uint8Array<ArrayBuffer> {
  const head = encoder.encode(
    JSON.stringify(payload.byteLength === 0 ? header : { ...header, bytes: payload.byteLength }),
  );
  const frame = new Uint8Array(LENGTH_BYTES + head.byteLength + payload.byteLength);
  new DataView(frame.buffer).setUint32(0, head.byteLength);
  frame.set(head, LENGTH_BYTES);
  frame.set(payload, LENGTH_BYTES + head.byteLength);
  return frame;
}

/** Takes bytes as they come, and gives the frames that are whole. */
export class FrameParser {
  #chunks: Uint8Array[] = [];
  #length = 0;
  /** Of the frame that is being received, once it is known. */
  #header: FrameHeader | null = null;

  /** Whether it ends between two frames. */
  get isAtEnd(): boolean {
    return this.#length === 0 && this.#header === null;
  }

  /** @throws FrameError */
  push(chunk: Uint8Array): Frame[] {
    this.#chunks.push(chunk);
    this.#length += chunk.byteLength;
    const frames: Frame[] = [];
    for (let frame = this.#next(); frame !== null; frame = this.#next()) frames.push(frame);
    return frames;
  }

  #next(): Frame | null {
    const header = (this.#header ??= this.#takeHeader());
    if (header === null) return null;
    const { bytes = 0 } = header;
    if (this.#length < bytes) return null;
    this.#header = null;
    return { header, payload: this.#take(bytes) };
  }

  #takeHeader(): FrameHeader | null {
    if (this.#length < LENGTH_BYTES) return null;
    const lengthBytes = this.#peek(LENGTH_BYTES);
    const length = new DataView(lengthBytes.buffer).getUint32(0);
    if (length > MAX_HEADER_BYTES) throw new FrameError('a frame has a header of an impossible length');
    if (this.#length < LENGTH_BYTES + length) return null;
    this.#take(LENGTH_BYTES);
    return headerOf(this.#take(length));
  }

  #peek(bytes: number): Uint8Array<ArrayBuffer> {
    const found = new Uint8Array(bytes);
    let at = 0;
    for (const chunk of this.#chunks) {
      const part = chunk.subarray(0, bytes - at);
      found.set(part, at);
      at += part.byteLength;
      if (at === bytes) break;
    }
    return found;
  }

  #take(bytes: number): Uint8Array<ArrayBuffer> {
    const found = this.#peek(bytes);
    this.#length -= bytes;
    let left = bytes;
    let whole = 0;
    for (const chunk of this.#chunks) {
      if (chunk.byteLength > left) break;
      left -= chunk.byteLength;
      whole += 1;
    }
    this.#chunks.splice(0, whole);
    const [first] = this.#chunks;
    if (left > 0 && first !== undefined) this.#chunks[0] = first.subarray(left);
    return found;
  }
}

function headerOf(bytes: Uint8Array): FrameHeader {
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new FrameError('a frame has a header that is not JSON', { cause: error });
  }
  if (typeof header !== 'object' || header === null || Array.isArray(header))
    throw new FrameError('a frame has a header that is not an object');
  const { bytes: length } = header as FrameHeader;
  const isPossible =
    length === undefined || (Number.isSafeInteger(length) && length >= 0 && length <= MAX_PAYLOAD_BYTES);
  if (!isPossible) throw new FrameError('a frame has an impossible length');
  return header as FrameHeader;
}
