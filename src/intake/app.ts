/** The public listener: `POST /webhooks`, `GET /healthz`, nothing else (docs/http-api.md#public-listener). */
import type { IncomingMessage } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import type { InboxClient } from '../inbox/inbox-client.ts';
import { createLimitedLog, type Logger } from '../platform/log.ts';
import { asError } from '../platform/thrown.ts';
import { SIGNATURE, TEST_HEADER, verifySignature } from '../store-api/signature.ts';
import type { Heartbeat } from './heartbeat.ts';
import { RequestBodies, type HeldBody } from './request-body.ts';
import type { UnstoredDeliveries } from './unstored.ts';

interface IntakeDeps {
  readonly inbox: Pick<InboxClient, 'append'>;
  readonly unstored: UnstoredDeliveries;
  readonly secrets: readonly string[];
  readonly now: () => number;
  readonly heartbeat: Pick<Heartbeat, 'check'>;
  readonly observer: IntakeObserver;
  readonly log: Logger;
}

export interface IntakeObserver {
  committed(tookMs: number): void;
  refused(refusal: Refusal): void;
}

export interface Refusal {
  readonly reason: Reason | 'wrong_protocol';
  readonly status: (typeof ANSWERS)[Reason][0] | 400;
  readonly tookMs: number;
  /** The method and path for `wrong_address`, the protocol for `wrong_protocol`. */
  readonly seen?: string;
}

/** The store waits one second for an answer. */
const COMMIT_DEADLINE_MS = 800;
const MAX_SHOWN = 100;

const error = (code: string, description: string) => ({ error: code, error_description: description });

const WRONGLY_SIGNED = [
  401,
  error('invalid_signature', 'X-Service-Signature is missing or does not match the body'),
] as const;
const ANSWERS = {
  missing_signature: WRONGLY_SIGNED,
  malformed_signature: WRONGLY_SIGNED,
  wrong_signature: WRONGLY_SIGNED,
  too_large: [413, error('invalid_request', 'the body is larger than 1 MB')],
  wrong_address: [404, error('not_found', 'this listener has POST /webhooks and GET /healthz')],
  not_stored: [503, error('unavailable', 'not committed in time: its products are read again')],
  no_room: [503, error('unavailable', 'no room for the body: products with the oldest evidence are read')],
} as const;
type Reason = keyof typeof ANSWERS;

export function createIntakeApp(deps: IntakeDeps) {
  const { inbox, unstored, secrets, now, heartbeat, observer, log } = deps;
  const warn = createLimitedLog((fields) =>
    log.warn(fields, 'webhook requests were refused since the last such line'),
  );
  const bodies = new RequestBodies();
  const app = new Hono<{ Bindings: HttpBindings }>();

  /** A failing observer must not change an answer. */
  const observe = (notify: () => void): void => {
    try {
      notify();
    } catch (cause) {
      log.error({ err: cause }, 'an observer of the public listener failed');
    }
  };
  const refused = (refusal: Refusal): void => {
    const { reason, seen } = refusal;
    warn(reason, { seen });
    if (reason === 'no_room') unstored.noteTurnedAway();
    observe(() => observer.refused(refusal));
  };
  /** @returns whether the body is on disk in time. If its commit fails, even later, its products are read again. */
  const commit = ({ bytes, release }: HeldBody, cameMs: number): Promise<boolean> => {
    const late = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => late.resolve(false), cameMs + COMMIT_DEADLINE_MS - performance.now());
    const committed = inbox
      .append(bytes, now())
      .then(
        () => true,
        (cause: unknown) => {
          unstored.note(bytes, asError(cause));
          return false;
        },
      )
      .finally(release);
    return Promise.race([committed, late.promise]).finally(() => clearTimeout(timer));
  };
  /** @returns null once the delivery is on disk, else the reason. */
  const receive = async (incoming: IncomingMessage, cameMs: number): Promise<Reason | null> => {
    const signature = signatureOf(incoming);
    if (signature === null) return 'missing_signature';
    // Do not read a body whose signature cannot be right.
    if (!SIGNATURE.test(signature)) return 'malformed_signature';
    const body = await bodies.read(incoming);
    if (typeof body === 'string') return body;
    if (verifySignature(secrets, body.bytes, signature))
      return (await commit(body, cameMs)) ? null : 'not_stored';
    body.release();
    return 'wrong_signature';
  };

  app.post('/webhooks', async (c) => {
    // The deadline starts at the request's headers, not at its last byte.
    const cameMs = performance.now();
    const outcome = await receive(c.env.incoming, cameMs);
    const tookMs = performance.now() - cameMs;
    if (outcome === null) {
      if (c.env.incoming.headers[TEST_HEADER] === undefined) observe(() => observer.committed(tookMs));
      return c.body(null, 204);
    }
    const [status, answer] = ANSWERS[outcome];
    refused({ reason: outcome, status, tookMs });
    return c.json(answer, status);
  });

  app.get('/healthz', async (c) =>
    (await heartbeat.check())
      ? c.json({ status: 'ok' })
      : c.json(error('unavailable', 'the mirror cannot commit a delivery now'), 503),
  );

  app.notFound((c) => {
    const [status, answer] = ANSWERS.wrong_address;
    // Without a signature, or as a test, it is not from the store.
    const isTest = c.env.incoming.headers[TEST_HEADER] !== undefined;
    if (!isTest && SIGNATURE.test(signatureOf(c.env.incoming) ?? '')) {
      const seen = `${c.req.method} ${c.req.path.replace(/[^\x21-\x7e]/g, '?').slice(0, MAX_SHOWN)}`;
      refused({ reason: 'wrong_address', status, tookMs: 0, seen });
    }
    return c.json(answer, status);
  });
  app.onError((cause, c) => {
    // Includes requests cut off halfway: without the whole body, no signature can be checked.
    log.debug({ err: cause }, 'a request failed');
    return c.json(error('server_error', 'the request could not be answered'), 500);
  });
  return {
    fetch: app.fetch,
    onUnread: (protocol: string | null): void =>
      refused(
        protocol === null
          ? { reason: 'no_room', status: 503, tookMs: 0 }
          : { reason: 'wrong_protocol', status: 400, tookMs: 0, seen: protocol },
      ),
  };
}

/** A repeated header arrives joined with a comma and matches nothing. */
function signatureOf({ headers }: IncomingMessage): string | null {
  const value = headers['x-service-signature'];
  return typeof value === 'string' ? value : null;
}
