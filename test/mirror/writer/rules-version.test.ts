/** What each entry does, held fast: a log that an earlier version wrote gives the same tables for as long as the rules are the same. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RULES_VERSION } from '../../../src/core/rules-version.ts';
import type { LogRow } from '../../../src/event-log/entries.ts';
import { values, writerDb } from '../mirror-file.ts';
import { applyAgain, dump } from '../replay.ts';

/** Of before runs, pruning and reads that are given up were entries; all other kinds are in it. */
const ENTRIES = join(import.meta.dirname, '../fixtures/entries.jsonl');

test('entries of an earlier version give the tables of then; where they do not, the version of the rules is another', () => {
  const db = writerDb();
  const insert = db.prepare(
    'INSERT INTO log (seq, kind, at_ms, payload) VALUES (@seq, @kind, @atMs, CAST(@payload AS BLOB))',
  );
  const entries = readFileSync(ENTRIES, 'utf8').trim().split('\n');
  for (const line of entries) insert.run(JSON.parse(line) as LogRow);
  const again = applyAgain(db, writerDb());
  expect(values(again, 'SELECT applied_seq FROM mirror_state')).toEqual([entries.length]);
  // A migration that adds a column changes the digest as well: then it alone is recorded anew.
  expect({ version: RULES_VERSION, tables: hash('sha256', dump(again)) }).toEqual({
    version: 3,
    tables: 'df1e303bf4dd1ce74eaa566eb40703464f853bd4a610f7a6ba94698c53f6bcf1',
  });
});
