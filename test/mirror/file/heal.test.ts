/** One event log, one mirror: however it came to be applied, the tables are equal (docs/architecture.md#the-event-log). */
import { copyFileSync, rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { makeTables } from '../../../src/event-log/open-log.ts';
import { LogReader } from '../../../src/event-log/read-log.ts';
import type { StoreNews } from '../../../src/mirror/writer/upkeep.ts';
import { digestsOf } from '../../../src/mirror/file/projected.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { Projection } from '../../../src/mirror/writer/projection.ts';
import { eventually } from '../../process/wait.ts';
import {
  delivery,
  detail,
  DirectWriter,
  item,
  newPath,
  readEntry,
  readerDb,
  storeAt,
  T0,
  values,
  writerDb,
  type OpenStore,
} from '../mirror-file.ts';
import { history, play } from '../random-history.ts';

const digest = (db: Db): string => JSON.stringify([...digestsOf(db)]);

test('two mirrors that apply one event log are equal, in whatever portions, and restored from whatever copy', () => {
  const made = writerDb();
  made.pragma('journal_mode = DELETE');
  const empty = made.serialize();
  let longest = 0;
  fc.assert(
    fc.property(history, fc.nat(), fc.nat({ max: 9 }), (plan, backupAt, portion) => {
      const logDb = new Database(':memory:');
      makeTables(logDb);
      const writer = new DirectWriter(new Database(empty), logDb);
      let backup = empty;
      play(writer, plan, (n) => {
        const { lastSeq } = writer.writer;
        const atMs = T0 + n * 40_000;
        if (n % 5 === 1) writer.giveUp('10');
        if (n % 5 === 2) {
          const bounds = { beforeMs: atMs, firstSeq: lastSeq - 2, limit: 3 };
          writer.append({ kind: 'pruned', atMs, ...bounds });
        }
        if (n % 14 === 5) writer.endRun(1, { atMs, fullSync: true });
        if (n === backupAt % plan.length) backup = writer.db.serialize();
      });
      const { lastSeq } = writer.writer;
      longest = Math.max(longest, lastSeq);
      const heal = (copy: Buffer, atOnce: number): string => {
        const db = new Database(copy);
        const projection = new Projection(db, new LogReader(logDb));
        while (projection.appliedSeq < lastSeq) projection.step([], projection.appliedSeq + atOnce);
        const is = digest(db);
        db.close();
        return is;
      };
      const is = digest(writer.db);
      expect(heal(empty, 256)).toBe(is);
      expect(heal(empty, portion + 1)).toBe(is);
      expect(heal(backup, portion + 1)).toBe(is);
      writer.db.close();
      logDb.close();
    }),
    { numRuns: 60 },
  );
  expect(longest).toBeGreaterThan(20);
});

const allIsApplied = ({ writer }: OpenStore): Promise<true> =>
  eventually(() => writer.appliedSeq === writer.lastSeq, { what: 'all is applied' });

/** The mirror's file, and what SQLite has beside it. */
function removeMirror(path: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
}

test.each<[string, (path: string, backup: string) => void]>([
  ['is deleted', (path) => removeMirror(path)],
  ['is deleted with its high-water mark', (path) => [path, `${path}.mark`].forEach(removeMirror)],
  [
    'is replaced by an older backup',
    (path, backup) => {
      removeMirror(path);
      copyFileSync(backup, path);
    },
  ],
  ['is overwritten by an older backup', (path, backup) => copyFileSync(backup, path)],
])(
  'a mirror that %s while it is stopped has the same rows, numbers and epoch after the start',
  async (_name, happen) => {
    const path = newPath();
    const first = await storeAt(path);
    const work = async (store: OpenStore, from: number): Promise<void> => {
      for (let n = from; n < from + 40; n += 1) {
        const id = String(100 + (n % 7));
        await store.writer.appendDelivery(
          delivery(`r${n}`, item({ id, old: n, new: n + 1, update_time: T0 + n })),
          T0 + n,
        );
        if (n % 5 > 0) continue;
        const found = detail('10', [{ id, levels: { 1: n, 2: 7 } }]);
        await store.writer.append(readEntry('10', found, { sentAtMs: T0 + n, s0: store.writer.lastSeq }));
      }
    };
    await work(first, 0);
    await first.close();
    const backup = `${path}.backup`;
    copyFileSync(path, backup);
    const second = await storeAt(path);
    await work(second, 40);
    await second.close();
    const before = readerDb(path);
    const [is, [epoch]] = [digest(before), values(before, 'SELECT epoch FROM mirror_status')];
    before.close();

    happen(path, backup);
    const news: StoreNews[] = [];
    const healed = await storeAt(path, { onNews: (one) => void news.push(one) });
    await allIsApplied(healed);
    const db = readerDb(path);
    expect(news).toEqual([]);
    expect(digest(db)).toBe(is);
    expect(values(db, 'SELECT epoch FROM mirror_status')).toEqual([epoch]);
    // And it goes on.
    const { seq } = await healed.writer.appendDelivery(delivery('new', item({ id: '999' })), T0 + 99);
    expect(seq).toBe(healed.writer.lastSeq);
    await allIsApplied(healed);
    expect(values(db, `SELECT count(*) FROM mirror_changes WHERE variant_id = '999'`)).toEqual([1]);
  },
);
