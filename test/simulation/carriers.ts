/** The network between store and mirror, in both directions. */
import { Readable } from 'node:stream';
import { verifySignature } from '../../src/store-api/signature.ts';
import { ServiceError } from '../../src/store-api/transport/errors.ts';
import { parseHttpDateMs } from '../../src/store-api/transport/http-date.ts';
import type {
  Transport,
  TransportRequest,
  TransportResponse,
} from '../../src/store-api/transport/transport.ts';
import type { SimulatedService } from '../../src/sandbox/sandbox.ts';
import type { Transmission, Transmitter } from '../../src/sandbox/network/transmit.ts';
import type { Delivery } from '../../src/sandbox/network/webhooks.ts';
import type { Unread } from '../../src/platform/listen.ts';
import type { Disk } from './disk.ts';
import type { Machine } from './machine.ts';
import { WEBHOOK_URL } from './proxy.ts';
import type { Sampled, StoreSide } from './store-side.ts';
import type { Life, VirtualTime } from './virtual-time.ts';

const ACK_TIMEOUT_MS = 1_000;
const CALL_DEADLINE_MS = 30_000;

interface CarrierDeps {
  readonly time: VirtualTime;
  readonly random: () => number;
  readonly machine: () => Pick<Machine, 'disk' | 'life' | 'request' | 'refuse' | 'presentSecrets' | 'effect'>;
  readonly service: () => SimulatedService;
  readonly side: () => StoreSide;
  readonly isCut: () => boolean;
  readonly dateAheadMs: number;
  readonly leavesOutWarehouses: boolean;
  /** A delivery has reached the host, where a process may or may not listen. */
  readonly onReached: (delivery: Delivery, isAuthentic: boolean) => void;
  /** Called at the instant of the answer. */
  readonly onAnswered: (answer: WebhookAnswer) => void;
  readonly onCall: (call: ApiCall) => void;
}

export interface WebhookAnswer {
  readonly delivery: Delivery;
  readonly by: Disk;
  readonly status: number;
  /** Since the process read the request. */
  readonly ms: number;
  /** It came to the right address, with a signature by a secret that the process knows. */
  readonly isAuthentic: boolean;
}

export interface ApiCall {
  readonly endpoint: string;
  readonly body: string;
  readonly sentAtMs: number;
  readonly phase: 'sent' | 'answered' | 'failed';
  readonly status: number | null;
  readonly text: string | null;
  /** How its answer was sampled; null while there is none. */
  readonly sampled: Readonly<Sampled> | null;
}

export function createCarriers(deps: CarrierDeps): {
  readonly transmitter: Transmitter;
  /** Sends a request that the listener refuses before anything reads it. */
  readonly sendUnread: (unread: Unread) => Promise<void>;
  readonly transport: (life: Life, now: () => number) => Transport;
  readonly inFlight: () => number;
} {
  const { time, random } = deps;
  const wayMs = (): number => 1 + random() * 25;
  let inFlight = 0;

  const deliver = async (delivery: Delivery, url: string): Promise<Transmission> => {
    await time.sleep(wayMs());
    const machine = deps.machine();
    const isAuthentic = (secrets: readonly string[]): boolean =>
      url === WEBHOOK_URL &&
      verifySignature(secrets, delivery.body, delivery.headers['X-Service-Signature'] ?? '');
    deps.onReached(delivery, isAuthentic(machine.presentSecrets));
    const request = new Request(url, { method: 'POST', headers: delivery.headers });
    const answer = await machine.request('webhook', request, delivery.body);
    if (answer === null) return { outcome: 'failed' };
    const { response, acceptedAtMs, webhookSecrets } = answer;
    const stoodStillUntilMs = machine.life?.standsStillUntilMs ?? 0;
    deps.onAnswered({
      delivery,
      by: machine.disk,
      status: response.status,
      ms: time.nowMs - Math.max(acceptedAtMs, stoodStillUntilMs),
      isAuthentic: isAuthentic(webhookSecrets),
    });
    await time.sleep(wayMs());
    return { outcome: 'answered', status: response.status };
  };

  const transmitter: Transmitter = {
    transmit: async (delivery, url) => {
      inFlight += 1;
      const late = time.sleep(ACK_TIMEOUT_MS).then((): Transmission => ({ outcome: 'timeout' }));
      const outcome = deliver(delivery, url).finally(() => (inFlight -= 1));
      return Promise.race([outcome, late]);
    },
    close: () => Promise.resolve(),
  };

  const call = async (
    life: Life,
    request: TransportRequest,
    now: () => number,
    cut: Promise<never>,
  ): Promise<TransportResponse & { readonly sampled: Sampled | null }> => {
    const sentAtMs = now();
    deps.onCall({ ...callOf(request, sentAtMs), phase: 'sent', ...NOTHING });
    await Promise.race([time.sleep(wayMs()), cut]);
    const asked = (): Promise<StoreAnswer | null> => askService(deps.service(), request);
    const { answered, sampled } = deps.isCut()
      ? { answered: null, sampled: null }
      : await Promise.race([deps.side().watch(asked), cut]);
    await Promise.race([time.sleep(wayMs()), cut]);
    await Promise.race([time.sleep(0, life), cut]);
    if (answered === null || deps.isCut()) {
      throw new ServiceError({
        kind: 'unavailable',
        endpoint: request.endpoint,
        requestId: request.requestId,
        description: 'no answer: ECONNRESET',
      });
    }
    const storeDateMs = parseHttpDateMs(answered.headers['date']);
    const serverDateMs = storeDateMs === null ? null : storeDateMs + deps.dateAheadMs;
    const body = deps.leavesOutWarehouses ? withoutWarehouses(answered.body) : answered.body;
    return { ...answered, body, sentAtMs, receivedAtMs: now(), serverDateMs, sampled };
  };

  const transport =
    (life: Life, now: () => number): Transport =>
    async (request) => {
      deps.machine().effect();
      const sentAtMs = now();
      const fail = (kind: 'aborted' | 'unavailable', description: string): ServiceError =>
        new ServiceError({ kind, endpoint: request.endpoint, requestId: request.requestId, description });
      if (request.signal?.aborted === true) throw fail('aborted', 'aborted before it was sent');
      const stop = Promise.withResolvers<never>();
      stop.promise.catch(() => undefined);
      const onAbort = (): void => stop.reject(fail('aborted', 'aborted while in flight'));
      request.signal?.addEventListener('abort', onAbort, { once: true });
      const deadline = time.after(CALL_DEADLINE_MS, life, () =>
        stop.reject(fail('unavailable', `no whole answer within ${CALL_DEADLINE_MS} ms`)),
      );
      try {
        const answer = await call(life, request, now, stop.promise);
        deps.onCall({
          ...callOf(request, sentAtMs),
          phase: 'answered',
          status: answer.status,
          text: Buffer.from(answer.body).toString('utf8'),
          sampled: answer.sampled,
        });
        return answer;
      } catch (error) {
        deps.onCall({ ...callOf(request, sentAtMs), phase: 'failed', ...NOTHING });
        throw error;
      } finally {
        deadline.cancelled = true;
        request.signal?.removeEventListener('abort', onAbort);
      }
    };

  const sendUnread = async (unread: Unread): Promise<void> => {
    await time.sleep(wayMs());
    await deps.machine().refuse(unread);
  };

  return { transmitter, sendUnread, transport, inFlight: () => inFlight };
}

function callOf(
  request: TransportRequest,
  sentAtMs: number,
): Pick<ApiCall, 'endpoint' | 'body' | 'sentAtMs'> {
  return { endpoint: request.endpoint, body: request.body, sentAtMs };
}

type Json = Record<string, unknown>;

function withoutWarehouses(bytes: Uint8Array): Uint8Array {
  const answer = JSON.parse(Buffer.from(bytes).toString('utf8')) as { product?: { variants?: Json[] } };
  const { product } = answer;
  if (product?.variants === undefined) return bytes;
  const variants = product.variants.map((variant) => ({ ...variant, warehouses: undefined }));
  return Buffer.from(JSON.stringify({ ...answer, product: { ...product, variants } }));
}

type StoreAnswer = Pick<TransportResponse, 'status' | 'headers' | 'body'>;

const NOTHING = { status: null, text: null, sampled: null } as const;

async function askService(service: SimulatedService, request: TransportRequest): Promise<StoreAnswer | null> {
  let wasReset = false;
  const socket = { remoteAddress: '127.0.0.1', resetAndDestroy: () => (wasReset = true) };
  const incoming = Object.assign(Readable.from([Buffer.from(request.body)], { objectMode: false }), {
    socket,
  });
  const headers = new Headers({ 'content-type': request.contentType, 'x-request-id': request.requestId });
  if (request.token !== undefined) headers.set('authorization', `Bearer ${request.token}`);
  const asked = new Request(`http://service.invalid${request.endpoint}`, { method: 'POST', headers });
  const answer = await service.api.fetch(asked, { incoming: incoming as never });
  if (wasReset) return null;
  return {
    status: answer.status,
    headers: Object.fromEntries(answer.headers),
    body: new Uint8Array(await answer.arrayBuffer()),
  };
}
