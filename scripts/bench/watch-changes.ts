/** Looks into a mirror's file for changes, as a consumer would, and notes when each delivery's could be read first. */
import Database from 'better-sqlite3';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PreparedDelivery } from './deliveries.ts';

const EVERY_MS = 2;
/** What is not there by then never comes. */
const WITHIN_MS = 10_000;

interface ChangesWatch {
  /** @param dueAtMs since the epoch. @returns of each delivery, how long after it was due. @throws Error when one does not come. */
  delays(deliveries: readonly PreparedDelivery[], dueAtMs: Float64Array): Promise<number[]>;
}

export function watchChanges(databasePath: string): ChangesWatch {
  const db = new Database(databasePath, { readonly: true, fileMustExist: true });
  const after = db.prepare<[number], { readonly seq: number; readonly requestId: string | null }>(
    'SELECT seq, request_id AS requestId FROM mirror_changes WHERE seq > ? ORDER BY seq',
  );
  let seq = db.prepare<[], number | null>('SELECT max(seq) FROM mirror_changes').pluck().get() ?? 0;
  const seenAtMs = new Map<string, number>();
  const look = (): void => {
    const found = after.all(seq);
    const nowMs = performance.timeOrigin + performance.now();
    for (const row of found) {
      if (row.requestId !== null && !seenAtMs.has(row.requestId)) seenAtMs.set(row.requestId, nowMs);
      seq = row.seq;
    }
  };
  const timer = setInterval(look, EVERY_MS);
  return {
    async delays(deliveries, dueAtMs) {
      const deadlineMs = performance.now() + WITHIN_MS;
      while (deliveries.some(({ requestId }) => !seenAtMs.has(requestId))) {
        if (performance.now() > deadlineMs) throw new Error('a delivery never came to the mirror');
        await sleep(EVERY_MS * 10);
      }
      clearInterval(timer);
      db.close();
      return deliveries.map(({ requestId }, i) => (seenAtMs.get(requestId) ?? NaN) - (dueAtMs[i] ?? NaN));
    },
  };
}
