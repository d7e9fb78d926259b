/** Webhooks for partners' programs: the signature is checked first, then the body is parsed. */
import type { z } from 'zod';
import { describeIssues } from './contract/issues.ts';
import {
  stockAvailableUpdatedSchema,
  STOCK_AVAILABLE_UPDATED,
  webhookEnvelopeSchema,
  type StockItem,
  type WebhookEnvelope,
} from './contract/schemas.ts';
import { verifySignature } from './signature.ts';

export interface StockAvailableUpdated extends WebhookEnvelope {
  readonly event_type: typeof STOCK_AVAILABLE_UPDATED;
  readonly data: { readonly items: readonly StockItem[] };
}

/** The store may add event types ("Versioning" 2): ask `isStockAvailableUpdated`. */
export type WebhookEvent = StockAvailableUpdated | WebhookEnvelope;

/**
 * - `signature`: none of the secrets signed these bytes. Answer 401.
 * - `body`: the store signed a body that is not understood. It is not sent again: read the products.
 */
export type WebhookErrorKind = 'signature' | 'body';

export class WebhookError extends Error {
  override readonly name = 'WebhookError';
  readonly kind: WebhookErrorKind;

  constructor(kind: WebhookErrorKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/**
 * Checks that the store signed exactly these bytes, and parses them.
 * @param body the raw bytes as received, not JSON that was parsed and serialised again.
 * @param signature the header `X-Service-Signature`.
 * @param secret the webhook secret, or several while one replaces another.
 * @throws WebhookError
 */
function constructEvent(
  body: Uint8Array | string,
  signature: string | null | undefined,
  secret: string | readonly string[],
): WebhookEvent {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const secrets = typeof secret === 'string' ? [secret] : secret;
  if (!verifySignature(secrets, bytes, signature)) {
    const problem = signature ? 'does not match the body and the secret' : 'is missing';
    throw new WebhookError('signature', `The signature ${problem}.`);
  }
  const envelope = parse(webhookEnvelopeSchema, jsonOf(bytes));
  return envelope.event_type === STOCK_AVAILABLE_UPDATED
    ? parse(stockAvailableUpdatedSchema, envelope)
    : envelope;
}

function isStockAvailableUpdated(event: WebhookEvent): event is StockAvailableUpdated {
  return event.event_type === STOCK_AVAILABLE_UPDATED;
}

export const webhooks = { constructEvent, isStockAvailableUpdated };

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new WebhookError('body', 'The body is not JSON in UTF-8.');
  }
}

function parse<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new WebhookError('body', `The body is not understood: ${describeIssues(parsed.error)}.`);
}
