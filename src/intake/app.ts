/** The public listener, as `listen` takes it: `POST /webhooks`, `GET /healthz`, nothing else (docs/http-api.md#public-listener). */
import type { IncomingMessage } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import { createLimitedLog, type Logger } from '../platform/log.ts';
import { acceptDelivery, COMMIT_DEADLINE_MS, type AcceptDeps, type Verdict } from './accept-delivery.ts';
import type { Heartbeat } from './heartbeat.ts';
import type { IntakeObserver, Refusal } from './observer.ts';
import { RequestBodies } from './request-body.ts';

interface IntakeDeps extends AcceptDeps {
  readonly heartbeat: Pick<Heartbeat, 'check'>;
  readonly observer: IntakeObserver;
  readonly log: Logger;
}

type Env = { Bindings: HttpBindings };
type Outcome = Verdict | 'too_large' | 'no_room' | 'wrong_address' | 'wrong_protocol';

/** Of a path that others choose. */
const MAX_SHOWN = 100;

const error = (code: string, description: string) => ({ error: code, error_description: description });

const ANSWERS = {
  unsigned: [401, error('invalid_signature', 'X-Service-Signature is missing or does not match the body')],
  too_large: [413, error('invalid_request', 'the body is larger than 1 MB')],
  wrong_address: [404, error('not_found', 'this listener has POST /webhooks and GET /healthz')],
  not_stored: [503, error('unavailable', 'not committed in time: its products are read again')],
  no_room: [
    503,
    error('unavailable', 'no room for the body: the most recently active products are read again'),
  ],
} as const;

export function createIntakeApp(deps: IntakeDeps) {
  const { log, observer, unstored } = deps;
  const warn = createLimitedLog((counts, context) =>
    log.warn({ ...counts, ...context }, 'webhook requests were refused since the last such line'),
  );
  const bodies = new RequestBodies();
  const app = new Hono<Env>();

  /** A failing observer changes no answer. */
  const observe = (tell: () => void): void => {
    try {
      tell();
    } catch (cause) {
      log.error({ err: cause }, 'an observer of the public listener failed');
    }
  };
  const refused = (outcome: Exclude<Outcome, 'committed'>, refusal: Refusal): void => {
    warn(outcome, refusal.seen === undefined ? {} : { seen: refusal.seen });
    if (outcome === 'no_room') unstored.noteTurnedAway();
    observe(() => observer.refused(refusal));
  };

  app.post('/webhooks', async (c) => {
    // The deadline runs from the request's headers, not from its last byte.
    const cameMs = performance.now();
    const { incoming } = c.env;
    const signature = signatureOf(incoming);
    let outcome: Outcome = 'unsigned';
    let bytes = declaredBytes(incoming);
    // Without a signature that could be right, the body is not read.
    if (signature !== undefined && hasForm(signature)) {
      const read = await bodies.read(incoming);
      if (typeof read === 'string') outcome = read;
      else {
        const body = read.bytes;
        bytes = body.byteLength;
        outcome = await acceptDelivery(
          deps,
          read,
          signature,
          cameMs + COMMIT_DEADLINE_MS - performance.now(),
        );
        if (outcome === 'committed') observe(() => observer.committed(body, performance.now() - cameMs));
      }
    }
    if (outcome === 'committed') return c.body(null, 204);
    const [status, answer] = ANSWERS[outcome];
    refused(outcome, {
      reason: outcome === 'unsigned' ? signatureFault(signature) : outcome,
      status,
      tookMs: performance.now() - cameMs,
      remoteAddress: remoteAddressOf(incoming),
      bytes,
    });
    return c.json(answer, status);
  });

  app.get('/healthz', async (c) =>
    (await deps.heartbeat.check())
      ? c.json({ status: 'ok' })
      : c.json(error('unavailable', 'the mirror cannot commit a delivery now'), 503),
  );

  app.notFound((c) => {
    const { incoming } = c.env;
    const signature = signatureOf(incoming);
    const [status, answer] = ANSWERS.wrong_address;
    // Without a signature it is nothing that the store has sent.
    if (signature !== undefined && hasForm(signature)) {
      refused('wrong_address', {
        reason: 'wrong_address',
        status,
        tookMs: 0,
        remoteAddress: remoteAddressOf(incoming),
        bytes: declaredBytes(incoming),
        seen: `${c.req.method} ${c.req.path.replace(/[^\x21-\x7e]/g, '?').slice(0, MAX_SHOWN)}`,
      });
    }
    return c.json(answer, status);
  });
  app.onError((cause, c) => {
    // Requests cut off in the middle end here too: without the whole body, no signature can be checked.
    log.debug({ err: cause }, 'a request failed');
    return c.json(error('server_error', 'the request could not be answered'), 500);
  });
  return {
    fetch: app.fetch,
    open: {
      onDropped: (remoteAddress: string | null) =>
        refused('no_room', { reason: 'no_room', status: 503, tookMs: 0, remoteAddress, bytes: null }),
      onProtocol: (seen: string, remoteAddress: string | null) =>
        refused('wrong_protocol', {
          reason: 'wrong_protocol',
          status: 400,
          tookMs: 0,
          remoteAddress,
          bytes: null,
          seen,
        }),
    },
  };
}

/** The store's signatures have the right form; one that has it was made with some key. */
function signatureFault(signature: string | undefined): Refusal['reason'] {
  if (signature === undefined) return 'missing_signature';
  return hasForm(signature) ? 'wrong_signature' : 'malformed_signature';
}

function hasForm(signature: string): boolean {
  return /^[0-9a-f]{64}$/.test(signature);
}

/** A header sent twice arrives joined with a comma, and matches nothing. */
function signatureOf({ headers }: IncomingMessage): string | undefined {
  const value = headers['x-service-signature'];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** The other end of the connection, which may be a proxy. A simulation has no sockets. */
function remoteAddressOf(incoming: { readonly socket?: IncomingMessage['socket'] }): string | null {
  return incoming.socket?.remoteAddress ?? null;
}

function declaredBytes({ headers }: IncomingMessage): number | null {
  const text = headers['content-length'];
  return text === undefined ? null : Number(text);
}
