/** The public listener: `POST /webhooks`, `GET /healthz`, nothing else (docs/http-api.md#public-listener). */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import type { Logger } from '../platform/log.ts';
import { acceptDelivery, COMMIT_DEADLINE_MS, type AcceptDeps, type Verdict } from './accept-delivery.ts';
import { Deadlines } from './deadlines.ts';
import type { IntakeObserver, Refusal, RefusalReason } from './observer.ts';
import type { Heartbeat } from './heartbeat.ts';
import { remoteAddressOf, RequestBodies } from './request-body.ts';
import { Strangers } from './strangers.ts';

interface IntakeDeps extends Omit<AcceptDeps, 'deadlines'> {
  readonly heartbeat: Pick<Heartbeat, 'check'>;
  readonly observer: IntakeObserver;
  readonly log: Logger;
}

type Env = { Bindings: HttpBindings };

/** As `listen` takes it. */
interface Intake {
  readonly fetch: Hono<Env>['fetch'];
  readonly isLenient: true;
  readonly door: Strangers;
}

/** Refusals are logged once in a while, not one by one: whoever causes them must not fill the log. */
const NEWS_EVERY_MS = 10_000;
/** What is left of so small a body after its answer is read, for the sake of the connection. */
const SMALL_REST_BYTES = 64 << 10;

const error = (code: string, description: string) => ({ error: code, error_description: description });

export function createIntakeApp(deps: IntakeDeps): Intake {
  const { log, now, observer, unstored } = deps;
  const tell = rarely(now, (refused) =>
    log.warn(refused, 'webhook requests were refused since the last such line'),
  );
  const bodies = new RequestBodies();
  const strangers = new Strangers({ log, onTurnedAway: () => unstored.noteUnread() });
  const accepting: AcceptDeps = { ...deps, deadlines: new Deadlines() };
  const afterAnswers = watchLater((cause) =>
    log.error({ err: cause }, 'an observer of the public listener failed'),
  );
  const app = new Hono<Env>();

  app.post('/webhooks', async (c) => {
    // The deadline runs from the request's headers, not from its last byte.
    const cameMs = performance.now();
    const { incoming } = c.env;
    const signature = signatureOf(incoming);
    // Without a signature that could be right, the body changes nothing.
    const read = hasForm(signature) ? await bodies.read(incoming) : 'unsigned';
    let outcome: Verdict | 'too_large' | 'no_room';
    let bytes = declaredBytes(incoming);
    if (typeof read === 'string') outcome = read;
    else {
      const body = read.bytes;
      bytes = body.byteLength;
      const leftMs = cameMs + COMMIT_DEADLINE_MS - performance.now();
      outcome = await acceptDelivery(accepting, body, signature, leftMs).finally(read.letGo);
      if (outcome === 'committed') {
        const tookMs = performance.now() - cameMs;
        afterAnswers(() => observer.committed(body, tookMs));
      }
    }
    const socket = socketOf(incoming);
    if (outcome === 'committed' || outcome === 'not_stored') {
      if (socket !== undefined) strangers.delivered(socket);
    } else if (socket !== undefined && (strangers.strayed(socket) || isMuchLeft(incoming))) {
      c.header('Connection', 'close');
    }
    if (outcome !== 'committed') {
      tell(outcome);
      if (outcome === 'no_room') unstored.noteUnread();
      const refusal: Refusal = {
        ...reasonOf(outcome, signature),
        tookMs: performance.now() - cameMs,
        remoteAddress: remoteAddressOf(incoming),
        bytes,
      };
      afterAnswers(() => observer.refused(refusal));
    }
    switch (outcome) {
      case 'committed':
        return c.body(null, 204);
      case 'unsigned':
        return c.json(
          error('invalid_signature', 'X-Service-Signature is missing or does not match the body'),
          401,
        );
      case 'too_large':
        return c.json(error('invalid_request', 'the body is larger than 1 MB'), 413);
      case 'not_stored':
        return c.json(error('unavailable', 'not committed in time: its products are read again'), 503);
      case 'no_room':
        return c.json(
          error(
            'unavailable',
            'too many bodies are in transfer at once: the products that changed last are read again',
          ),
          503,
        );
    }
  });

  app.get('/healthz', async (c) => {
    const socket = socketOf(c.env.incoming);
    if (socket !== undefined && strangers.askedHealth(socket)) c.header('Connection', 'close');
    const healthy = await deps.heartbeat.check();
    return healthy
      ? c.json({ status: 'ok' })
      : c.json(error('unavailable', 'the mirror cannot commit a delivery now'), 503);
  });

  app.notFound((c) => {
    const { incoming } = c.env;
    const socket = socketOf(incoming);
    if (socket !== undefined && (strangers.strayed(socket) || isMuchLeft(incoming))) {
      c.header('Connection', 'close');
    }
    return c.json(error('not_found', 'this listener has POST /webhooks and GET /healthz'), 404);
  });
  app.onError((cause, c) => {
    // Requests cut off in the middle end here too: without the whole body, no signature can be checked.
    log.debug({ err: cause }, 'a request failed');
    return c.json(error('server_error', 'the request could not be answered'), 500);
  });
  return { fetch: app.fetch, isLenient: true, door: strangers };
}

type RefusedOutcome = Exclude<Verdict, 'committed'> | 'too_large' | 'no_room';

function reasonOf(
  outcome: RefusedOutcome,
  signature: string | undefined,
): { readonly reason: RefusalReason; readonly status: Refusal['status'] } {
  switch (outcome) {
    case 'unsigned':
      return { reason: signatureFault(signature), status: 401 };
    case 'too_large':
      return { reason: 'too_large', status: 413 };
    case 'not_stored':
    case 'no_room':
      return { reason: outcome, status: 503 };
  }
}

/** A signature of the right form was made with some key; anything else does not come from the store. */
function signatureFault(signature: string | undefined): RefusalReason {
  if (signature === undefined) return 'missing_signature';
  return hasForm(signature) ? 'wrong_signature' : 'malformed_signature';
}

function hasForm(signature: string | undefined): boolean {
  return signature !== undefined && /^[0-9a-f]{64}$/.test(signature);
}

/** A header sent twice arrives joined with a comma, and matches nothing. */
function signatureOf({ headers }: IncomingMessage): string | undefined {
  const value = headers['x-service-signature'];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** Observers delay no answer, and their failures change none. */
function watchLater(onFailure: (cause: unknown) => void): (watch: () => void) => void {
  let waiting: (() => void)[] = [];
  const watchAll = (): void => {
    const due = waiting;
    waiting = [];
    for (const watch of due) {
      try {
        watch();
      } catch (cause) {
        onFailure(cause);
      }
    }
  };
  return (watch) => {
    if (waiting.length === 0) setImmediate(watchAll);
    waiting.push(watch);
  };
}

/** None in a simulation. */
function socketOf(incoming: { readonly socket?: Socket }): Socket | undefined {
  return incoming.socket;
}

/** More of its body is to come than is worth waiting for. */
function isMuchLeft(incoming: IncomingMessage): boolean {
  return !incoming.complete && (declaredBytes(incoming) ?? 0) > SMALL_REST_BYTES;
}

function declaredBytes({ headers }: IncomingMessage): number | null {
  const text = headers['content-length'];
  return text === undefined ? null : Number(text);
}

function rarely(now: () => number, say: (refused: Record<string, number>) => void) {
  let counts = new Map<RefusedOutcome, number>();
  let saidAtMs = Number.NEGATIVE_INFINITY;
  return (refusal: RefusedOutcome): void => {
    counts.set(refusal, (counts.get(refusal) ?? 0) + 1);
    if (now() - saidAtMs < NEWS_EVERY_MS) return;
    saidAtMs = now();
    say(Object.fromEntries(counts));
    counts = new Map();
  };
}
