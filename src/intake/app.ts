/** The public listener: `POST /webhooks`, `GET /healthz`, nothing else (docs/http-api.md#public-listener). */
import type { IncomingMessage } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import type { Logger } from '../log.ts';
import { acceptDelivery, COMMIT_DEADLINE_MS, type AcceptDeps, type Verdict } from './accept-delivery.ts';
import { Deadlines } from './deadlines.ts';
import type { IntakeObserver, Refusal, RefusalReason } from './observer.ts';
import type { Pulse } from './pulse.ts';
import { RequestBodies } from './request-body.ts';

export interface IntakeDeps extends Omit<AcceptDeps, 'deadlines'> {
  readonly pulse: Pick<Pulse, 'check'>;
  readonly observer: IntakeObserver;
  readonly log: Logger;
}

export type IntakeApp = Hono<{ Bindings: HttpBindings }>;

/** Told once in a while, not once a request: whoever sends them must not fill the log. */
const NEWS_EVERY_MS = 10_000;

const error = (code: string, description: string) => ({ error: code, error_description: description });

export function createIntakeApp(deps: IntakeDeps): IntakeApp {
  const { log, now, observer } = deps;
  const tell = rarely(now, (refused) =>
    log.warn(refused, 'webhook requests were refused since the last such line'),
  );
  const bodies = new RequestBodies();
  const accepting: AcceptDeps = { ...deps, deadlines: new Deadlines() };
  const afterAnswers = watchLater((cause) =>
    log.error({ err: cause }, 'who watches the public listener failed'),
  );
  const app: IntakeApp = new Hono();

  app.post('/webhooks', async (c) => {
    // The clock of the answer runs since the request came, not since its last byte did.
    const cameMs = performance.now();
    const { incoming } = c.env;
    const signature = signatureOf(incoming);
    let bytes = declaredBytes(incoming);
    const outcome = await bodies.read(incoming, async (body) => {
      bytes = body.byteLength;
      const leftMs = cameMs + COMMIT_DEADLINE_MS - performance.now();
      const verdict = await acceptDelivery(accepting, body, signature, leftMs);
      if (verdict === 'committed') {
        const tookMs = performance.now() - cameMs;
        afterAnswers(() => observer.committed(body, tookMs));
      }
      return verdict;
    });
    if (outcome !== 'committed') {
      tell(outcome);
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
        return c.json(
          error('unavailable', 'not committed in time; the products are read again instead'),
          503,
        );
      case 'no_room':
        return c.json(error('unavailable', 'too many bodies are on their way at once'), 503);
    }
  });

  app.get('/healthz', async (c) => {
    const healthy = await deps.pulse.check();
    return healthy
      ? c.json({ status: 'ok' })
      : c.json(error('unavailable', 'the store cannot commit now'), 503);
  });

  app.notFound((c) => c.json(error('not_found', 'this listener has POST /webhooks and GET /healthz'), 404));
  app.onError((cause, c) => {
    // A request cut off in its middle ends here too; it was never whole, so nothing of it could be checked.
    log.debug({ err: cause }, 'a request failed');
    return c.json(error('server_error', 'the request could not be answered'), 500);
  });
  return app;
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

/** A signature of the right form was made with some key; anything else does not come from the service. */
function signatureFault(signature: string | undefined): RefusalReason {
  if (signature === undefined) return 'missing_signature';
  return /^[0-9a-f]{64}$/.test(signature) ? 'wrong_signature' : 'malformed_signature';
}

/** Sent twice it reaches us joined with a comma, and matches nothing. */
function signatureOf({ headers }: IncomingMessage): string | undefined {
  const value = headers['x-service-signature'];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** Whoever watches keeps no answer waiting, and turns none into another by failing. */
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

function declaredBytes({ headers }: IncomingMessage): number | null {
  const text = headers['content-length'];
  return text === undefined ? null : Number(text);
}

function remoteAddressOf(incoming: { readonly socket?: IncomingMessage['socket'] }): string | null {
  return incoming.socket?.remoteAddress ?? null;
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
