import { onTestFinished } from 'vitest';
import { createLog } from '../../src/platform/log.ts';
import { Reconciler } from '../../src/reconcile/reconciler.ts';
import { Throttle } from '../../src/reconcile/throttle.ts';
import type { Reason } from '../../src/core/reasons.ts';
import type {
  CatalogueClient,
  ProductDetailAnswer,
  ProductListAnswer,
} from '../../src/store-api/endpoints/products.ts';
import { ServiceError, type ServiceErrorKind } from '../../src/store-api/transport/errors.ts';
import { productDetailSchema, type ProductListRequest } from '../../src/store-api/contract/schemas.ts';
import type { Db } from '../../src/sqlite/open.ts';
import { openBoth, Writer, type AppliedInput, type Input } from '../mirror/direct-writer.ts';
import * as queries from '../../src/mirror/reader/queries.ts';
import type { ApplyListener, MirrorReader, MirrorWriter } from '../../src/mirror/mirror.ts';
import { onVirtualTime } from '../simulation/virtual-time.ts';
import { newPath } from '../mirror/mirror-file.ts';
import { present } from '../shared/present.ts';

export const log = createLog('silent');

export interface DirectDatabases {
  readonly mirror: MirrorReader & MirrorWriter;
  readonly inbox: { readonly lastSeq: number };
  deliver(body: Uint8Array, arrivedAtMs: number, kind?: 'delivery' | 'test'): Promise<AppliedInput>;
  requestReads(
    atMs: number,
    reason: Reason,
    of: { productIds?: readonly string[]; variantIds?: string[] },
  ): Promise<unknown>;
  rows<T>(sql: string, ...args: unknown[]): T[];
  change(sql: string, ...args: unknown[]): void;
}

/** On this thread, since starting threads takes a second. */
export function newDatabases(): DirectDatabases {
  const db = openBoth(newPath());
  onVirtualTime(db);
  let writer = new Writer(db);
  const listeners = new Set<ApplyListener>();
  onTestFinished(() => {
    writer.inboxDb.close();
    db.close();
  });
  const commit = async (input: Input): Promise<unknown> => {
    await Promise.resolve();
    const [result] = writer.commit([input]);
    if (result === undefined) throw new Error('no result');
    if (!result.ok) throw result.error;
    return result.value;
  };
  const apply = async (input: Exclude<Input, { kind: 'command' }>): Promise<AppliedInput> => {
    const applied = (await commit(input)) as AppliedInput;
    for (const listener of listeners) listener({ reports: [applied] });
    return applied;
  };
  return {
    mirror: {
      append: (input) => apply({ kind: 'input', input }),
      command: (name, args) => commit({ kind: 'command', name, args }) as never,
      get position() {
        return writer.applier.position;
      },
      fault: null,
      onApplied: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      ask: async (name, ...args) => {
        await Promise.resolve();
        return (queries[name] as (db: Db, args: unknown) => never)(db, args[0]);
      },
    },
    inbox: {
      get lastSeq() {
        return writer.inbox.lastSeq;
      },
    },
    requestReads: (atMs, reason, { productIds = [], variantIds = [] }) =>
      apply({ kind: 'input', input: { kind: 'request_reads', atMs, reason, productIds, variantIds } }),
    deliver: (body, arrivedAtMs, kind = 'delivery') => apply({ kind, body, arrivedAtMs }),
    rows: <T>(sql: string, ...args: unknown[]) => db.prepare<unknown[], T>(sql).all(...args),
    change: (sql, ...args) => {
      db.prepare(sql).run(...args);
      writer.inboxDb.close();
      writer = new Writer(db);
    },
  };
}

/** A list of the store names these products. */
export function appendListed(
  { mirror }: Pick<DirectDatabases, 'mirror'>,
  productIds: readonly string[],
  atMs: number,
): Promise<unknown> {
  return mirror.append({ kind: 'listed', atMs, sentAtMs: atMs, productIds, lookup: false });
}

/** Records a finished first read, so that the reconciler does not begin one. */
export async function recordFirstRead(
  databases: Pick<DirectDatabases, 'mirror'>,
  atMs: number,
): Promise<void> {
  const { facts } = await databases.mirror.append({
    kind: 'run_begun',
    atMs,
    run: 'initial',
    readAfterMs: atMs,
    total: 0,
    productIds: null,
  });
  const runId = facts.find((fact) => fact.kind === 'run_begun')?.run.id ?? -1;
  await databases.mirror.append({
    kind: 'run_ended',
    atMs,
    runId,
    startedAtMs: atMs,
    error: null,
    fullSync: true,
  });
}

export interface FakeService extends CatalogueClient {
  ids: string[];
  /** Quantities of products that differ from the usual one. */
  readonly quantities: Map<string, number>;
  readonly asked: string[];
  /** Every detail is answered 404. */
  isBlind: boolean;
  /** Called before an answer is made; may change the catalogue, wait, or throw. */
  onList: (request: ProductListRequest) => void | Promise<void>;
  onDetail: (productId: string, signal: AbortSignal | undefined) => void | Promise<void>;
}

export function fakeService(now: () => number, ids: readonly string[]): FakeService {
  const times = (sentAtMs: number) => ({ sentAtMs, receivedAtMs: now(), serverDateMs: null, requestId: 'r' });
  const service: FakeService = {
    ids: [...ids],
    quantities: new Map(),
    asked: [],
    isBlind: false,
    onList: () => undefined,
    onDetail: () => undefined,
    async listProducts(request = {}): Promise<ProductListAnswer> {
      const sentAtMs = now();
      const { offset = 0, limit = 20 } = request;
      service.asked.push(`list ${offset}`);
      await service.onList(request);
      const products = service.ids
        .slice(offset, offset + limit)
        .map((id) => ({ id, name: `product ${id}`, image_url: undefined }));
      const page = {
        request_id: 'r',
        products,
        total: service.ids.length,
        has_more: offset + limit < service.ids.length,
      };
      return { page, ...times(sentAtMs) };
    },
    async productDetail(productId, options): Promise<ProductDetailAnswer> {
      const sentAtMs = now();
      service.asked.push(productId);
      await service.onDetail(productId, options?.signal);
      if (service.isBlind || !service.ids.includes(productId))
        return { outcome: 'not_found', ...times(sentAtMs) };
      const rawProduct = detailOf(productId, service.quantities.get(productId) ?? 7);
      return {
        outcome: 'found',
        product: productDetailSchema.parse(rawProduct),
        rawProduct,
        ...times(sentAtMs),
      };
    },
  };
  return service;
}

function detailOf(productId: string, qty: number) {
  return {
    id: productId,
    name: `product ${productId}`,
    store_id: '1',
    variants: [
      {
        product_variant_id: `${productId}01`,
        name: '',
        available_qty: qty,
        on_hand: qty,
        reserved_qty: 0,
        warehouses: [{ wh_id: '5', on_hand: qty, available_qty: qty, reserved_qty: 0 }],
      },
    ],
  };
}

type ReconcilerDeps = ConstructorParameters<typeof Reconciler>[0];

/** By default without schedules; stopped when the test ends. */
export function newReconciler(
  deps: Pick<ReconcilerDeps, 'mirror' | 'client' | 'now'> &
    Partial<Pick<ReconcilerDeps, 'random' | 'maxRps' | 'schedules'>>,
): Reconciler {
  const reconciler = new Reconciler({
    random: () => 0.5,
    maxRps: 10_000,
    schedules: { reconcileCron: null, verifyWithinHours: 2, resyncCron: null, timezone: 'UTC' },
    ...deps,
    tokens: {
      getToken: () => Promise.resolve('token'),
      invalidate: () => undefined,
      retryCredentials: () => Promise.resolve(),
    },
    log,
    maxConcurrency: 8,
  });
  onTestFinished(() => reconciler.stop());
  return reconciler;
}

export function newThrottle(
  now: () => number,
  options: { maxConcurrency?: number; maxRps?: number; random?: () => number } = {},
): Throttle {
  return new Throttle({
    now,
    random: options.random ?? (() => 0.5),
    maxConcurrency: options.maxConcurrency ?? 8,
    maxRps: options.maxRps ?? 10_000,
  });
}

export function serviceError(kind: ServiceErrorKind, retryAfterMs?: number): ServiceError {
  return new ServiceError({ kind, endpoint: '/v1/product/detail', description: 'made up', retryAfterMs });
}

/** An answer that does not come before the request is aborted. */
export function hang(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((_resolve, reject) => {
    present(signal).addEventListener('abort', () => reject(serviceError('aborted')));
  });
}

export function productIds(count: number): string[] {
  return Array.from({ length: count }, (_, i) => String(100_000 + i * 10));
}
