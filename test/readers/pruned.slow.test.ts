import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { delivery, detail, DirectWriter, item, T0, writerDb } from '../mirror/mirror-file.ts';
import { eventually, temporaryFolder } from '../process/harness.ts';
import { isInstalled, NAMES, Reader, titleOf } from './reader.ts';

const WHAT = 'waits for a whole mirror and starts over only after pruned changes or from a number not issued';

for (const name of NAMES) {
  test.skipIf(!isInstalled(name))(
    titleOf(name, WHAT),
    async (t) => {
      const path = join(temporaryFolder(t), 'later', 'mirror.db');
      const reader = new Reader(name, path, temporaryFolder(t));
      t.onTestFinished(() => reader.kill());
      reader.start();
      await eventually(() => reader.stderr.includes('not now'), { what: 'it waits for the mirror' });
      const writer = new DirectWriter(writerDb(path));
      const prune = (): void => void writer.prune(Date.now() * 2, 1_000);
      const both = detail('10', [
        { id: '100', levels: { 1: 5, 2: 1 } },
        { id: '101', levels: { 1: 3 } },
      ]);
      const one = detail('10', [{ id: '100', levels: { 1: 5 } }]);
      writer.read('10', both, T0);
      writer.endRun(0, { fullSync: true });
      const isEqual = (): boolean => {
        const { copy, mirror } = reader.compare();
        return JSON.stringify(copy) === JSON.stringify(mirror);
      };
      await eventually(isEqual, { what: 'the first copy' });

      prune();
      writer.read('10', { ...both, name: 'Renamed' }, T0 + 5_000);
      writer.deliver(delivery('r1', item({ old: 5, new: 4, update_time: T0 + 10_000 })), T0 + 10_000);
      await eventually(isEqual, { what: 'the change' });
      await eventually(() => reader.starts.length > 0, { what: 'it says that it starts' });
      expect(reader.starts).toHaveLength(1);

      await reader.kill();
      writer.read('10', one, T0 + 60_000);
      writer.read('10', one, T0 + 120_000);
      prune();
      writer.deliver(delivery('r2', item({ old: 5, new: 3, update_time: T0 + 130_000 })), T0 + 130_000);
      reader.start();
      await eventually(isEqual, { what: 'equal without the removals' });
      await eventually(() => reader.starts.length > 1, { what: 'it says that it starts over' });
      expect(reader.starts).toHaveLength(2);
      expect(reader.compare().mirror).toHaveLength(1);

      await reader.kill();
      const copy = new Database(reader.copyPath);
      copy.exec('UPDATE position SET seq = seq + 1000; UPDATE stock SET available_qty = 99');
      copy.close();
      writer.db.exec('UPDATE service_state SET last_full_sync_at_ms = NULL');
      reader.start();
      await eventually(() => reader.stderr.includes('whole store') || isEqual(), { what: 'a poll' });
      expect(reader.compare().copy).toMatchObject([{ available_qty: 99 }]);
      writer.endRun(0, { fullSync: true });
      await eventually(isEqual, { what: 'equal after an older copy of both files was put in place' });
    },
    60_000,
  );
}
