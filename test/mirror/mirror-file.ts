import { EARLIEST_MS } from '../../src/core/limits.ts';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Reason } from '../../src/core/reasons.ts';
import type { NewInput } from '../../src/mirror/writer/applier.ts';
import { openForQueries } from '../../src/mirror/reader/open-for-queries.ts';
import { openInboxReader } from '../../src/inbox/inbox-file.ts';
import { realFiles } from '../../src/app/mirror.ts';
import { Mirror, type MirrorEvents } from '../../src/mirror/mirror.ts';
import { openInboxWriter } from '../../src/receiver/inbox-writer.ts';
import { type Db } from '../../src/sqlite/open.ts';
import type { MirrorState } from '../../src/mirror/file/state.ts';
import { stateFacts } from '../../src/mirror/queries/state-facts.ts';
import {
  prepareCommands,
  type CommandArgs,
  type CommandName,
  type CommandResult,
  type Commands,
} from '../../src/mirror/writer/commands.ts';
import { appended, openBoth, Writer, type AppliedInput, type Input, type Result } from './direct-writer.ts';
import { productDetailSchema } from '../../src/store-api/contract/schemas.ts';
import { eventually } from '../process/wait.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';
import { snapshotOf } from '../../src/store-api/snapshot.ts';

/** A whole second, as in a Date header. */
export const T0 = 1_790_000_000_000;

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

export interface StartedDatabases {
  readonly mirror: Mirror;
  readonly path: string;
  readonly inbox: {
    readonly lastSeq: number;
    append(body: Uint8Array, arrivedAtMs: number): void;
  };
  close(): Promise<void>;
}

/** A mirror on its threads, next to an inbox that the test writes. Resolves once the mirror is open. */
export async function startDatabases(
  path = newPath(),
  events: Partial<MirrorEvents> = {},
): Promise<StartedDatabases> {
  const inbox = openInboxWriter(path);
  let isOpen = false;
  const mirror = new Mirror(
    realFiles(path),
    { onOpened: () => undefined, onFault: () => undefined, ...events },
    // Opens before every instant of the tests, and is used after all of them.
    () => (isOpen ? Number.MAX_SAFE_INTEGER : 0),
  );
  mirror.open();
  let closed: Promise<void> | null = null;
  const close = (): Promise<void> => (closed ??= mirror.close().then(() => inbox.close()));
  onTestFinished(close);
  await mirror.tried;
  isOpen = true;
  return {
    mirror,
    path,
    inbox: {
      get lastSeq() {
        return inbox.lastSeq;
      },
      append: (body, arrivedAtMs) => {
        inbox.append(appended([{ body, arrivedAtMs }]));
        inbox.checkpointIfDue();
        mirror.arrived();
      },
    },
    close,
  };
}

export function allApplied({ inbox, mirror }: Pick<StartedDatabases, 'inbox' | 'mirror'>): Promise<unknown> {
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
    claims: [],
    atMs: sentAtMs + 10,
    productId,
    sentAtMs,
    receivedAtMs: sentAtMs + 10,
    serverDateMs: Math.floor(sentAtMs / 1_000) * 1_000,
    requestId: null,
    snapshot: found === null ? null : snapshotOf(productDetailSchema.parse(found), JSON.stringify(found)),
  };
}

/** A heartbeat may lie 10 s in the future, so that one outlasts a slow test by almost 20 s. */
const AHEAD_MS = 9_000;

/** A heartbeat of the main thread at `atMs`, with its decision. @returns whether it was written. */
export function beats(
  db: Db,
  atMs: number,
  decided: Partial<Parameters<Commands['alive']>[0]> = {},
): boolean {
  const { epoch, trustedAfterMs, wayIn } = stateFacts(db, { nowMs: 0 });
  const { stateCause = null } = decided;
  const inbox = openInboxReader(db.name);
  try {
    return prepareCommands(db, inbox).alive({
      atMs,
      clockMs: atMs,
      checkedSinceMs: EARLIEST_MS,
      epoch,
      trustedAfterMs,
      wayIn,
      state: 'live',
      stateCause,
      causesJson: JSON.stringify(stateCause === null ? [] : [{ code: stateCause }]),
      ...decided,
    });
  } finally {
    inbox.close();
  }
}

type RefusedRead = CommandArgs<'failRead'>;

/**
 * The store refused the read of a product, which is not retried before a schedule, a run or an operator
 * requests it.
 */
export function refusedRead(productId: string, over: Partial<RefusedRead> = {}): RefusedRead {
  return {
    atMs: T0,
    productId,
    priority: 4,
    attempts: 1,
    faults: 1,
    retryAtMs: 0,
    parked: true,
    isGivenUp: true,
    error: 'refused',
    ...over,
  };
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

  /** Two reads 30 s apart that do not find the product, the first one at `atMs`, and a list that does not name it. */
  remove(productId: string, atMs: number): void {
    this.read(productId, null, atMs);
    this.append({ kind: 'list_completed', atMs: atMs + 9_000, sentAtMs: atMs + 9_000 });
    this.read(productId, null, atMs + 30_000);
  }

  /** Writes a heartbeat with the state, as the main thread decided it. */
  beat(state: MirrorState = 'live', stateCause: string | null = null): void {
    beats(this.db, Date.now() + AHEAD_MS, { state, stateCause });
  }

  requestReads(reason: Reason, productIds: readonly string[], atMs = T0 + 1): void {
    this.append({ kind: 'request_reads', atMs, reason, productIds, variantIds: [] });
  }

  /** Prunes the mirror, then the inbox as far as the mirror released it. */
  prune(beforeMs: number, limit = 100): CommandResult<'prune'> {
    const found = this.command('prune', {
      beforeMs,
      afterMs: T0 + 365 * 86_400_000,
      limit,
    }) as CommandResult<'prune'>;
    const [upToSeq = 0] = values<number>(this.db, 'SELECT inbox_prunable_seq FROM service_state');
    this.writer.inbox.prune({ upToSeq, beforeMs: Infinity, afterMs: Infinity });
    return found;
  }

  beginRun(over: Partial<Omit<Extract<NewInput, { kind: 'run_begun' }>, 'kind'>> = {}): number {
    const run = { run: 'scheduled', atMs: T0, readAfterMs: T0, total: 0, productIds: null } as const;
    this.append({ kind: 'run_begun', ...run, ...over });
    return values<number>(this.db, 'SELECT max(id) FROM runs')[0] ?? -1;
  }

  giveUp(productId: string): void {
    this.command('failRead', refusedRead(productId));
  }

  endRun(id: number, over: { atMs?: number; error?: string | null; fullSync?: boolean } = {}): void {
    const [startedAtMs = 0] = values<number>(this.db, 'SELECT started_at_ms FROM runs WHERE id = ?', id);
    const how = { atMs: T0, error: null, fullSync: false, ...over };
    this.append({ kind: 'run_ended', runId: id, startedAtMs, ...how });
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
