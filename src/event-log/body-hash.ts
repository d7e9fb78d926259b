/** What a delivery is known by, so that the same body is taken once. */
import { hash } from 'node:crypto';

const REQUEST_TIME = Buffer.from('"request_time":');
const TIME_DIGITS = 13;
const PREFIX_MS = 100;

/**
 * Identifies a body: the tenth of a second that it says it was sent in, so that the index grows at its end instead of
 * all over, and 12 bytes of its SHA-256, enough that two bodies never collide. A function of the bytes alone.
 */
export function bodyHash(body: Uint8Array): Buffer {
  const key = hash('sha256', body, 'buffer').subarray(0, 16);
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const start = bytes.indexOf(REQUEST_TIME) + REQUEST_TIME.length;
  const sentAtMs = Number(bytes.toString('latin1', start, start + TIME_DIGITS));
  key.writeUInt32BE(
    Number.isSafeInteger(sentAtMs) && sentAtMs >= 0 ? Math.floor(sentAtMs / PREFIX_MS) % 2 ** 32 : 0,
  );
  return key;
}
