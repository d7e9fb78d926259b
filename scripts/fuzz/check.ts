/** What must hold of any body: it is read without harm, and merged into a real store that the log makes again. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Db } from '../../src/sqlite/open.ts';
import { openBoth, Writer, type Appended } from '../shared/direct-writer.ts';
import { checkDelivery } from '../../test/hostile/delivery-properties.ts';
import { dump, replay } from '../../test/mirror/replay.ts';

const T0 = 1_790_000_000_000;

interface Checker {
  /** @throws what is wrong. */
  check(body: Uint8Array): void;
  /** Applies the log of everything checked so far again, and begins a new one. @throws when the tables differ. */
  checkReplay(): void;
  /** What the present log has taken in. */
  readonly taken: readonly Uint8Array[];
  close(): void;
}

export function createChecker(): Checker {
  const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-fuzz-'));
  let files = 0;
  const open = (): Db => {
    const db = openBoth(join(folder, `${(files += 1)}.db`));
    for (const file of ['main', 'event_log']) db.pragma(`${file}.synchronous = OFF`);
    return db;
  };
  let writer = { db: open(), taken: [] as Uint8Array[] };
  let store = new Writer(writer.db);

  return {
    check(body) {
      checkDelivery(body);
      const [result] = store.commit([{ kind: 'delivery', body, arrivedAtMs: T0 + writer.taken.length }]);
      writer.taken.push(body);
      assert.ok(result?.ok === true, 'the store takes it');
      for (const fact of (result.value as Appended).facts) {
        if (fact.kind === 'quarantined') assert.doesNotMatch(fact.problem, /^not merged/);
      }
    },
    checkReplay() {
      const again = open();
      try {
        assert.equal(
          dump(replay(writer.db, again)),
          dump(writer.db),
          'the log applied again gives the same tables',
        );
      } finally {
        again.close();
        writer.db.close();
        writer = { db: open(), taken: [] };
        store = new Writer(writer.db);
      }
    },
    get taken() {
      return writer.taken;
    },
    close() {
      writer.db.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
