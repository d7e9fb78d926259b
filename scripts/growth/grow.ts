/**
 * A store's life in accelerated time: deliveries that arrive over simulated days go through the real writer, what
 * retention prunes is pruned several times a simulated day, and the checkpoint thread keeps its real pace.
 */
import { statSync } from 'node:fs';
import { createLog } from '../../src/platform/log.ts';
import { eventLogPath, openLogForReading } from '../../src/event-log/open-log.ts';
import { openStore } from '../../src/mirror/open-store.ts';
import { rowsOf } from '../../src/mirror/writer/pruned.ts';
import type { Store } from '../../src/mirror/store.ts';
import { prepareDeliveries } from '../bench/deliveries.ts';
import { fillDatabase, FilledLevels } from '../bench/fill.ts';
import { seeded } from '../bench/random.ts';

export interface Plan {
  /** Where the database is made. */
  readonly path: string;
  readonly days: number;
  readonly deliveriesPerDay: number;
  readonly retentionDays: number;
  /** A server prunes every hour. */
  readonly prunesPerDay: number;
  readonly levels: number;
  readonly seed: number;
}

/** How things stand when a simulated day ends. */
interface Day {
  readonly day: number;
  /** Mirror and event log together. */
  readonly fileBytes: number;
  /** The longer of the two write-ahead logs, as long as it was when the last delivery of the day was written. */
  readonly walBytes: number;
  /** Entries of the log. */
  readonly logEntries: number;
}

interface Growth {
  readonly days: readonly Day[];
  /** Of the file, over the last third of the days: 0.01 is one percent. */
  readonly lastThird: number;
  readonly longestWalBytes: number;
}

const DAY_MS = 24 * 60 * 60_000;
/** As retention takes them (src/mirror/retention.ts), but without its pauses: a simulated hour lasts a few seconds. */
const PRUNED_AT_ONCE = 500;
/**
 * The log's file keeps the length it once had (src/mirror/file/open-writer.ts). In a flood it is followed as soon as it
 * is longer than 64 MB, which is looked at five times a second: so much may have come meanwhile.
 */
export const MOST_WAL_BYTES = 96 << 20;

/** @param onDay called at the end of each. */
export async function grow(plan: Plan, onDay: (day: Day) => void): Promise<Growth> {
  const { path, days, deliveriesPerDay, prunesPerDay, levels } = plan;
  const logPath = eventLogPath(path);
  // The last of the days ends now: nothing is stamped ahead of the clock.
  const startMs = Date.now() - days * DAY_MS;
  fillDatabase(path, levels, startMs - 60_000);
  const stock = new FilledLevels(levels);
  const log = createLog('warn');
  const death = Promise.withResolvers<never>();
  const store = await openStore(path, {
    onDeath: death.reject,
    onNews: ({ message, ...details }) => log.warn(details, message),
  });
  const done: Day[] = [];
  try {
    for (let day = 1; day <= days; day += 1) {
      const dayStartMs = startMs + (day - 1) * DAY_MS;
      const recipe = {
        count: deliveriesPerDay,
        secret: 'growth',
        label: `growth-${plan.seed}-${day}`,
        startMs: dayStartMs,
        everyMs: DAY_MS / deliveriesPerDay,
        apart: 0,
      };
      const deliveries = prepareDeliveries(stock, recipe, seeded(plan.seed * 10_000 + day));
      for (const { sets } of deliveries) for (const { level, qty } of sets) stock.set(level, qty);
      for (let n = 0; n < prunesPerDay; n += 1) {
        const arriving = deliveries.slice(
          Math.floor((n * deliveriesPerDay) / prunesPerDay),
          Math.floor(((n + 1) * deliveriesPerDay) / prunesPerDay),
        );
        const arrivedAtMs = dayStartMs + Math.floor(((n + 1) * DAY_MS) / prunesPerDay);
        const appended = arriving.map(({ body }) => store.writer.appendDelivery(body, arrivedAtMs));
        await Promise.race([Promise.all(appended), death.promise]);
        await prune(store, arrivedAtMs, arrivedAtMs - plan.retentionDays * DAY_MS);
      }
      const { databaseBytes, walBytes, logEntries } = await store.reader.ask('stateSample');
      const ended = {
        day,
        fileBytes: databaseBytes + pagesOf(logPath),
        walBytes: Math.max(walBytes, sizeOf(`${logPath}-wal`)),
        logEntries,
      };
      done.push(ended);
      onDay(ended);
    }
  } finally {
    await store.close();
  }
  const sizes = done.map(({ fileBytes }) => fileBytes);
  const last = sizes.at(-1) ?? 0;
  return {
    days: done,
    lastThird: last / (sizes[Math.floor((days * 2) / 3) - 1] ?? last) - 1,
    longestWalBytes: Math.max(...done.map(({ walBytes }) => walBytes)),
  };
}

/** As large as it is once its write-ahead log has been moved into it. */
function pagesOf(logPath: string): number {
  const db = openLogForReading(logPath);
  try {
    return ['page_count', 'page_size'].reduce(
      (bytes, pragma) => bytes * Number(db.pragma(pragma, { simple: true })),
      1,
    );
  } finally {
    db.close();
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

async function prune({ writer }: Store, nowMs: number, beforeMs: number): Promise<void> {
  for (;;) {
    const pruned = await writer.prune({ nowMs, beforeMs, limit: PRUNED_AT_ONCE });
    if (rowsOf(pruned) === 0) return;
  }
}
