/** Queries that drizzle puts together: the same rows by the same index. */
import { expect, test } from 'vitest';
import { eq, lt, sql } from '../../../src/sqlite/drizzle.ts';
import { inbox } from '../../../src/inbox/table.ts';
import { deadLetters } from '../../../src/mirror/file/schema.ts';
import { select, typed } from '../../../src/sqlite/typed.ts';
import { writerDb } from '../mirror-file.ts';

test('rows have the names that were asked for, whichever table they come from, and null where a join finds none', () => {
  const db = writerDb();
  db.prepare(
    `INSERT INTO dead_letters (id, inbox_seq, arrived_at_ms, problem) VALUES (1, 7, 4, 'first'), (2, 8, 5, 'second')`,
  ).run();
  db.prepare(`INSERT INTO inbox (seq, arrived_at_ms, body_hash, body) VALUES (8, 5, x'01', x'00')`).run();
  const query = typed(
    select({
      number: deadLetters.id,
      seq: deadLetters.inboxSeq,
      atMs: inbox.arrivedAtMs,
      loud: sql<string>`upper(problem)`,
    })
      .from(deadLetters)
      .leftJoin(inbox, eq(inbox.seq, deadLetters.inboxSeq))
      .where(lt(deadLetters.id, sql.placeholder('below')))
      .orderBy(deadLetters.id),
  );
  const rows = [
    { number: 1, seq: 7, atMs: null, loud: 'FIRST' },
    { number: 2, seq: 8, atMs: 5, loud: 'SECOND' },
  ];
  expect(query.all(db, { below: 3 })).toEqual(rows);
  expect(query.get(db, { below: 3 })).toEqual(rows[0]);
  expect(query.get(db, { below: 1 })).toBeUndefined();
  const [first] = query.iterate(db, { below: 3 });
  expect(first).toEqual(rows[0]);
  expect(() => query.all(db)).toThrow('below');
});
