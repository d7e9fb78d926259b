import { Buffer } from 'node:buffer';
import { createHmac, timingSafeEqual } from 'node:crypto';

/** The format of `X-Service-Signature`; other values are rejected without a comparison. */
export const SIGNATURE = /^[0-9a-f]{64}$/;

/** On webhooks of `stock-mirror send`, which show nothing about the store, and on requests of `doctor` for `/healthz`. */
export const TEST_HEADER = 'x-stock-mirror-test';

/** Lowercase hex HMAC-SHA256 over the raw bytes (docs/store-api.md#signature). @param secret as UTF-8, not trimmed. */
export function signBody(secret: string, body: Uint8Array): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}

/**
 * Whether one of `secrets` signed exactly these bytes (docs/store-api.md#signature). Every secret is tried, so that the time
 * does not show which one matched. An empty one matches nothing, since anyone could sign with it.
 * @param header the value of `X-Service-Signature`: exactly 64 lowercase hex digits.
 */
export function verifySignature(
  secrets: readonly string[],
  body: Uint8Array,
  header: string | undefined | null,
): boolean {
  if (typeof header !== 'string' || !SIGNATURE.test(header)) return false;
  const received = Buffer.from(header, 'latin1');
  let isSigned = false;
  for (const secret of secrets) {
    if (secret === '') continue;
    // As hex text: passing OpenSSL's raw digest to JavaScript takes a fifth longer.
    const expected = Buffer.from(signBody(secret, body), 'latin1');
    if (timingSafeEqual(expected, received)) isSigned = true;
  }
  return isSigned;
}
