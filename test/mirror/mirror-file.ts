import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Reason } from '../../src/core/reasons.ts';
import type { NewInput } from '../../src/mirror/writer/applier.ts';
import { openForQueries } from '../../src/mirror/reader/serve-queries.ts';
import { openStore, realThreads, type Store, type StoreEvents } from '../../src/mirror/store.ts';
import { type Db } from '../../src/sqlite/open.ts';
import type { MirrorState } from '../../src/mirror/file/state.ts';
import { stateFacts } from '../../src/mirror/queries/state-facts.ts';
import {
  prepareCommands,
  type CommandName,
  type CommandResult,
  type Commands,
  type WrittenState,
} from '../../src/mirror/writer/commands.ts';
import { openBoth, Writer, type AppliedInput, type Input, type Result } from './direct-writer.ts';
import { productDetailSchema } from '../../src/store-api/contract/schemas.ts';
import { eventually } from '../process/wait.ts';
import { snapshotOf } from '../../src/store-api/snapshot.ts';

/** A whole second, as in a Date header. */
export const T0 = 1_790_000_000_000;

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-store-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function newPath(): string {
  return join(temporaryFolder(), 'mirror.db');
}

export function writerDb(path = newPath()): Db {
  const db = openBoth(path);
  onTestFinished(() => void db.close());
  return db;
}

export function readerDb(path: string): Db {
  const db = openForQueries(path);
  onTestFinished(() => void db.close());
  return db;
}

export interface OpenStore extends Store {
  readonly path: string;
  readonly deaths: readonly Error[];
}

/** Resolves once the mirror is open too. */
export async function storeAt(path = newPath(), events: Partial<StoreEvents> = {}): Promise<OpenStore> {
  const store = await inboxAt(path, events);
  await store.mirror.opened;
  return store;
}

/** Resolves once deliveries can be stored. */
export async function inboxAt(path = newPath(), events: Partial<StoreEvents> = {}): Promise<OpenStore> {
  const deaths: Error[] = [];
  const store = await openStore(realThreads(path), {
    onDeath: (error) => void deaths.push(error),
    onCommit: () => undefined,
    onOpened: () => undefined,
    onFault: () => undefined,
    ...events,
  });
  onTestFinished(() => store.close());
  return { ...store, path, deaths };
}

export function allApplied({ inbox, mirror }: Store): Promise<unknown> {
  return eventually(() => mirror.position.inboxSeq === inbox.lastSeq, { what: 'all is applied' });
}

export type Item = Record<string, unknown>;

/** One item of a delivery: variant 100 in warehouse 1, from 5 to 4. */
export function item(over: Item = {}): Item {
  return {
    id: '100',
    sku: 'S-100',
    old: 5,
    new: 4,
    warehouse_id: '1',
    update_time: T0,
    reason: 'order_reserved',
    order_id: '9',
    ...over,
  };
}

export function delivery(requestId: string, ...items: readonly Item[]): Uint8Array {
  return new TextEncoder().encode(
    JSON.stringify({
      request_id: requestId,
      event_type: 'stock_available_updated',
      request_time: T0,
      data: { items },
    }),
  );
}

export interface VariantDetail {
  readonly id: string;
  /** Available quantity by warehouse; null if omitted. */
  readonly levels: Readonly<Record<string, number>> | null;
  readonly total?: number;
  readonly more?: Item;
}

export function detail(productId: string, variants: readonly VariantDetail[], more: Item = {}): Item {
  return {
    id: productId,
    name: `Product ${productId}`,
    store_id: '1',
    ...more,
    variants: variants.map(({ id, levels, total, more: rest = {} }) => ({
      product_variant_id: id,
      name: `Variant ${id}`,
      sku: `S-${id}`,
      available_qty: total ?? Object.values(levels ?? {}).reduce((sum, qty) => sum + qty, 0),
      ...(levels === null
        ? {}
        : {
            warehouses: Object.entries(levels).map(([wh_id, qty]) => ({
              wh_id,
              on_hand: qty + 1,
              available_qty: qty,
              reserved_qty: 1,
            })),
          }),
      ...rest,
    })),
  };
}

interface ReadTimes {
  readonly sentAtMs: number;
}

/** A finished read; `found` is null for a 404. */
export function readInput(productId: string, found: Item | null, { sentAtMs }: ReadTimes): NewInput {
  return {
    kind: 'read',
    atMs: sentAtMs + 10,
    productId,
    sentAtMs,
    receivedAtMs: sentAtMs + 10,
    serverDateMs: Math.floor(sentAtMs / 1_000) * 1_000,
    requestId: null,
    snapshot: found === null ? null : snapshotOf(productDetailSchema.parse(found), JSON.stringify(found)),
  };
}

/** A heartbeat of the main thread at `atMs`, with its decision. */
export function beats(
  db: Db,
  atMs: number,
  decided: Partial<Parameters<Commands['alive']>[0]> = {},
): WrittenState {
  const { epoch, trustedAfterMs } = stateFacts(db, { nowMs: null });
  return prepareCommands(db).alive({
    atMs,
    clockMs: atMs,
    epoch,
    trustedAfterMs,
    state: 'live',
    stateCause: null,
    ...decided,
  });
}

export class DirectWriter {
  readonly db: Db;
  readonly writer: Writer;

  constructor(db: Db = writerDb(), inboxDb?: Db) {
    this.db = db;
    this.writer = new Writer(db, inboxDb);
    onTestFinished(() => void this.writer.inboxDb.close());
  }

  commit(...inputs: readonly Input[]): Result[] {
    return this.writer.commit(inputs);
  }

  deliver(body: Uint8Array, arrivedAtMs = T0): AppliedInput {
    return this.#one({ kind: 'delivery', body, arrivedAtMs }) as AppliedInput;
  }

  append(input: NewInput): AppliedInput {
    return this.#one({ kind: 'input', input }) as AppliedInput;
  }

  command(name: CommandName, args: unknown): unknown {
    return this.#one({ kind: 'command', name, args });
  }

  /** A read that has seen every input. */
  read(productId: string, found: Item | null, sentAtMs: number): AppliedInput {
    return this.append(readInput(productId, found, { sentAtMs }));
  }

  /** Writes a heartbeat with the state, as the main thread decided it. */
  beat(state: MirrorState = 'live', stateCause: string | null = null): void {
    beats(this.db, Date.now() + 60_000, { state, stateCause });
  }

  requestReads(reason: Reason, productIds: readonly string[], atMs = T0 + 1): void {
    this.append({ kind: 'request_reads', atMs, reason, productIds, variantIds: [] });
  }

  prune(beforeMs: number, limit = 100): CommandResult<'prune'> {
    const { inbox, applier } = this.writer;
    const { firstSeq } = inbox.prune({ beforeMs, doneSeq: applier.position.inboxSeq, limit });
    return this.command('prune', { beforeMs, limit, inboxFirstSeq: firstSeq }) as CommandResult<'prune'>;
  }

  beginRun(over: Partial<Omit<Extract<NewInput, { kind: 'run_begun' }>, 'kind'>> = {}): number {
    const run = { run: 'scheduled', atMs: T0, readAfterMs: T0, total: 0, productIds: null } as const;
    this.append({ kind: 'run_begun', ...run, ...over });
    return values<number>(this.db, 'SELECT max(id) FROM runs')[0] ?? -1;
  }

  giveUp(productId: string, more: { attempts?: number; nextAtMs?: number } = {}): void {
    const failure = { attempts: 1, faults: 1, nextAtMs: T0, parked: true, error: 'refused', ...more };
    this.append({ kind: 'given_up', atMs: T0, productId, ...failure });
  }

  endRun(id: number, over: { atMs?: number; error?: string | null; fullSync?: boolean } = {}): void {
    const [startedAtMs = 0] = values<number>(this.db, 'SELECT started_at_ms FROM runs WHERE id = ?', id);
    const figures = { total: 0, done: 0, failed: 0, drift: 0 };
    const how = { atMs: T0, error: null, fullSync: false, ...over };
    this.append({ kind: 'run_ended', runId: id, startedAtMs, ...figures, ...how });
  }

  #one(input: Input): unknown {
    const [result] = this.writer.commit([input]);
    if (result === undefined) throw new Error('no result');
    if (!result.ok) throw result.error;
    return result.value;
  }
}

export function rows(db: Db, sql: string, ...args: readonly unknown[]): Record<string, unknown>[] {
  return db.prepare<unknown[], Record<string, unknown>>(sql).all(...args);
}

export function values<T>(db: Db, sql: string, ...args: readonly unknown[]): T[] {
  return db
    .prepare<unknown[], T>(sql)
    .pluck()
    .all(...args);
}
