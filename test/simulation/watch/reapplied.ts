/** Applying the inputs again gives the same tables (docs/architecture.md#data-flow). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Fact } from '../../../src/core/apply/fact.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { openWriter } from '../../../src/mirror/file/open-writer.ts';
import { PROJECTED } from '../../mirror/projected.ts';
import { present } from '../../shared/present.ts';
import type { Journal } from '../journal.ts';
import { checkRequests } from './read-requests.ts';
import type { Endless } from './endless.ts';

/** @param endless null if the story's clocks make exceptions. */
export function checkReapplied(
  { live, journal }: { readonly live: Db; readonly journal: Journal },
  fault: (what: string) => void,
  onFact: (fact: Fact) => void,
  endless: Endless | null,
): void {
  const again = emptyMirror();
  try {
    journal.replay(again, (tables, input, facts) => {
      facts.forEach(onFact);
      checkRequests(tables, input, facts, fault);
      endless?.check(input, facts, tables);
    });
    for (const from of PROJECTED) {
      const query = `SELECT * FROM ${from}`;
      const [found, expected] = [live, again].map((db) =>
        db
          .prepare(query)
          .all()
          .map((row) => JSON.stringify(row)),
      );
      if (present(found).join() === present(expected).join()) continue;
      const differing = present(found)
        .filter((row) => !present(expected).includes(row))
        .slice(0, 3);
      const missing = present(expected)
        .filter((row) => !present(found).includes(row))
        .slice(0, 3);
      fault(`applied again, ${from} differ: live ${differing.join(' ')}, again ${missing.join(' ')}`);
    }
  } finally {
    again.close();
  }
}

let template: Buffer | null = null;

function emptyMirror(): Db {
  if (template === null) {
    const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-empty-'));
    const db = openWriter(join(folder, 'empty.db'));
    template = db.serialize();
    // Byte 18 and 19 of the header: a copy in memory has no write-ahead log.
    template.fill(1, 18, 20);
    db.close();
    rmSync(folder, { recursive: true });
  }
  return new Database(template);
}
