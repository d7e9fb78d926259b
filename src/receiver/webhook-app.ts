/** The public listener: `POST /webhooks`, `GET /healthz`, nothing else (docs/http-api.md#public-listener). */
import type { IncomingMessage } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import type { Unread } from '../platform/listen.ts';
import { createLimitedLog, type Logger } from '../platform/log.ts';
import { BODY_TOO_LARGE } from '../store-api/contract/body-limit.ts';
import { SIGNATURE, TEST_HEADER, verifySignature } from '../store-api/signature.ts';
import type { Refusal, Reporting } from './reporting.ts';
import { RequestBodies, type HeldBody } from './request-body.ts';

interface WebhookDeps {
  /** Resolves once the body is on disk. @throws SqliteFault if it is not. @param isTest `stock-mirror send` sent it. */
  readonly append: (body: Uint8Array, isTest: boolean) => Promise<unknown>;
  /** Whether a delivery could be committed and published now. */
  readonly health: () => Health;
  /** Call it when a balancer asks. While commits fail, it may send webhooks elsewhere: they are noted as missed. */
  readonly noteTurnedAway: () => void;
  readonly secrets: readonly string[];
  readonly reporting: Pick<Reporting, 'accepted' | 'refused'>;
  readonly log: Logger;
}

export type Health = 'fit' | 'cannot commit' | 'cannot publish';

interface RequestFacts {
  /** Monotonic; when the request's headers had arrived. */
  readonly startedMs: number;
  /** `stock-mirror send` sent it. */
  readonly isTest: boolean;
}

/** The store waits one second for an answer. */
const ANSWER_WITHIN_MS = 800;
const MAX_SHOWN = 100;

const error = (code: string, description: string) => ({ error: code, error_description: description });

const WRONGLY_SIGNED = error(
  'invalid_signature',
  'X-Service-Signature is missing or does not match the body',
);
const ANSWERS = {
  missing_signature: [401, WRONGLY_SIGNED],
  malformed_signature: [401, WRONGLY_SIGNED],
  wrong_signature: [401, WRONGLY_SIGNED],
  too_large: [413, error('invalid_request', BODY_TOO_LARGE)],
  not_stored: [503, error('unavailable', 'not committed: its products are read again')],
  late: [503, error('unavailable', 'committed, but not in time')],
  no_room: [503, error('unavailable', 'no room for the body')],
} as const;
type Outcome = keyof typeof ANSWERS;

/** Nothing shows that the store sent it. */
interface Unverified {
  readonly reason: 'missing_signature' | 'malformed_signature' | 'wrong_signature';
  readonly body: Uint8Array | null;
}

const UNFIT = {
  'cannot commit': error('unavailable', 'a delivery cannot be committed now'),
  'cannot publish': error('unavailable', 'a delivery would be kept here, but the stream takes nothing now'),
};
const NOT_FOUND = error('not_found', 'this listener has POST /webhooks and GET /healthz');

export function createWebhookApp(deps: WebhookDeps) {
  const { append, health, noteTurnedAway, secrets, reporting, log } = deps;
  const warn = createLimitedLog((fields) =>
    log.warn(fields, 'webhook requests were refused since the last such line'),
  );
  const bodies = new RequestBodies();
  const app = new Hono<{ Bindings: HttpBindings }>();

  const refused = (refusal: Refusal): void => {
    const { reason, seen } = refusal;
    warn(reason, { seen });
    reporting.refused(refusal);
  };

  const commit = async (
    { bytes, release }: HeldBody,
    { startedMs, isTest }: RequestFacts,
  ): Promise<Outcome | null> => {
    try {
      await append(bytes, isTest);
      return performance.now() - startedMs > ANSWER_WITHIN_MS ? 'late' : null;
    } catch {
      // The receiver has reported the fault, and notes that the delivery was missed.
      return 'not_stored';
    } finally {
      release();
    }
  };

  /** @returns null once the delivery is on disk and the answer in time, else why not. */
  const receive = async (
    incoming: IncomingMessage,
    facts: RequestFacts,
  ): Promise<Outcome | Unverified | null> => {
    const signature = signatureOf(incoming);
    if (signature === null || !SIGNATURE.test(signature)) {
      // A proxy may have altered the header. The variants of the body show whether the request is the store's.
      const reason = signature === null ? 'missing_signature' : 'malformed_signature';
      return { reason, body: await readUnverified(incoming) };
    }
    const body = await bodies.read(incoming);
    if (typeof body === 'string') return body;
    if (verifySignature(secrets, body.bytes, signature)) return commit(body, facts);
    body.release();
    return { reason: 'wrong_signature', body: body.bytes };
  };

  /** @returns null if it did not arrive whole: without a right signature, nothing shows that it was the store's. */
  const readUnverified = async (incoming: IncomingMessage): Promise<Uint8Array | null> => {
    const body = await bodies.read(incoming).catch(() => 'cut_off' as const);
    if (typeof body === 'string') return null;
    body.release();
    return body.bytes;
  };

  app.post('/webhooks', async (c) => {
    // The deadline starts at the request's headers, not at its last byte.
    const startedMs = performance.now();
    const { incoming } = c.env;
    const isTest = incoming.headers[TEST_HEADER] !== undefined;
    let outcome;
    try {
      outcome = await receive(incoming, { startedMs, isTest });
    } catch (cause) {
      // Without the whole body, no signature can be checked: it may have been the store's.
      log.debug({ err: cause }, 'a webhook was cut off');
      refused({ reason: 'cut_off', status: 0, tookMs: performance.now() - startedMs });
      return c.json(error('server_error', 'the request was cut off'), 500);
    }
    const tookMs = performance.now() - startedMs;
    if (outcome === null) {
      reporting.accepted({ tookMs, isTest });
      return c.body(null, 204);
    }
    const { reason, body } = typeof outcome === 'string' ? { reason: outcome, body: null } : outcome;
    const [status, answer] = ANSWERS[reason];
    refused({
      reason,
      status,
      tookMs,
      ...(body === null || isTest ? {} : { body }),
    });
    return c.json(answer, status);
  });

  app.get('/healthz', (c) => {
    // `stock-mirror doctor` asks as a test.
    if (c.env.incoming.headers[TEST_HEADER] === undefined) noteTurnedAway();
    const answer = health();
    return answer === 'fit' ? c.json({ status: 'ok' }) : c.json(UNFIT[answer], 503);
  });

  app.notFound(async (c) => {
    const { incoming } = c.env;
    // Without a signature's form, or as a test, it is not from the store.
    const isTest = incoming.headers[TEST_HEADER] !== undefined;
    if (!isTest && SIGNATURE.test(signatureOf(incoming) ?? '')) {
      const seen = `${c.req.method} ${c.req.path.replace(/[^\x21-\x7e]/g, '?').slice(0, MAX_SHOWN)}`;
      const body = await readUnverified(incoming);
      refused({
        reason: 'wrong_address',
        status: 404,
        tookMs: 0,
        seen,
        ...(body === null ? {} : { body }),
      });
    }
    return c.json(NOT_FOUND, 404);
  });

  app.onError((cause, c) => {
    log.error({ err: cause }, 'a request to the public listener failed');
    return c.json(error('server_error', 'the request could not be answered'), 500);
  });

  return {
    fetch: app.fetch,
    onUnread: ({ reason, status, seen }: Unread): void =>
      refused({ reason, status, tookMs: 0, ...(seen === undefined ? {} : { seen }) }),
  };
}

/** A repeated header arrives joined with a comma and matches nothing. */
function signatureOf({ headers }: IncomingMessage): string | null {
  const value = headers['x-service-signature'];
  return typeof value === 'string' ? value : null;
}
