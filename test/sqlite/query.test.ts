/** Queries that drizzle builds and better-sqlite3 runs. */
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { and, asc, eq, integer, lt, sql, sqliteTable, text } from '../../src/sqlite/drizzle.ts';
import type { Db } from '../../src/sqlite/open.ts';
import {
  countOf,
  existsIn,
  flag,
  isListed,
  LISTED_ID,
  listOf,
  query,
  queryColumn,
  scalar,
  select,
  withBooleans,
  type Params,
} from '../../src/sqlite/query.ts';

const authors = sqliteTable('authors', {
  authorId: integer('author_id').primaryKey(),
  name: text('name').notNull(),
});

const books = sqliteTable('books', {
  bookId: text('book_id').primaryKey(),
  authorId: integer('author_id').notNull(),
  state: text('state').notNull(),
});

function library(): Db {
  const db = new Database(':memory:');
  onTestFinished(() => void db.close());
  db.exec(`
    CREATE TABLE authors (author_id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE books (book_id TEXT PRIMARY KEY, author_id INTEGER NOT NULL, state TEXT NOT NULL);
    CREATE INDEX books_lent ON books (author_id) WHERE state = 'lent';
    INSERT INTO authors VALUES (1, 'First'), (2, 'It''s @second?');
    INSERT INTO books VALUES ('a', 1, 'lent'), ('b', 1, 'here'), ('c', 9, 'lent');`);
  return db;
}

const BOOKS = query((params: Params<{ below: string; limit: number }>) =>
  select({ id: books.bookId, author: authors.name, isLent: flag(eq(books.state, 'lent')) })
    .from(books)
    .leftJoin(authors, eq(authors.authorId, books.authorId))
    .where(lt(books.bookId, params.below))
    .orderBy(asc(books.bookId))
    .limit(params.limit),
);

test('names columns by the fields, whichever table they come from', () => {
  const db = library();
  const rows = [
    { id: 'a', author: 'First', isLent: 1 },
    { id: 'b', author: 'First', isLent: 0 },
    { id: 'c', author: null, isLent: 1 },
  ];
  expect(BOOKS.all(db, { below: 'z', limit: 9 })).toEqual(rows);
  expect(BOOKS.all(db, { limit: 1, below: 'z' })).toEqual(rows.slice(0, 1));
  expect(BOOKS.get(db, { below: 'b', limit: 9 })).toEqual(rows[0]);
  expect(BOOKS.get(db, { below: '', limit: 9 })).toBeUndefined();
  expect([...BOOKS.iterate(db, { below: 'z', limit: 2 })]).toEqual(rows.slice(0, 2));
  expect(() => BOOKS.one(db, { below: '', limit: 9 })).toThrow('no row');
  expect(() => BOOKS.all(db, {} as never)).toThrow('Missing named parameter');
});

test('writes values into the text, so that a partial index is used', () => {
  const db = library();
  const lent = query((params: Params<{ authorId: number }>) =>
    select({ id: books.bookId })
      .from(books)
      .where(and(eq(books.state, 'lent'), eq(books.authorId, params.authorId))),
  );
  const texts: string[] = [];
  const spied = new Proxy(db, {
    get: (target, name) =>
      name === 'prepare'
        ? (text: string) => target.prepare((texts.push(text), text))
        : (Reflect.get(target, name) as unknown),
  });
  expect(lent.all(spied, { authorId: 1 })).toEqual([{ id: 'a' }]);
  expect(lent.all(spied, { authorId: 9 })).toEqual([{ id: 'c' }]);
  expect(texts).toHaveLength(1);
  const [plan] = db
    .prepare<[object], { detail: string }>(`EXPLAIN QUERY PLAN ${texts[0] ?? ''}`)
    .all({ authorId: 1 });
  expect(plan?.detail).toContain('books_lent');
});

test('compares with a text that has the signs of parameters', () => {
  const found = query(() =>
    select({ id: authors.authorId }).from(authors).where(eq(authors.name, "It's @second?")),
  );
  expect(found.all(library())).toEqual([{ id: 2 }]);
});

test('takes counts, conditions and values from other tables', () => {
  const perAuthor = query(() =>
    select({
      id: authors.authorId,
      books: countOf(books, eq(books.authorId, authors.authorId)),
      hasLent: existsIn(books, and(eq(books.authorId, authors.authorId), eq(books.state, 'lent'))),
      first: scalar(
        select({ id: sql<string>`min(${books.bookId})` })
          .from(books)
          .where(eq(books.authorId, authors.authorId)),
      ),
    })
      .from(authors)
      .orderBy(asc(authors.authorId)),
  );
  const rows = perAuthor.all(library()).map((row) => withBooleans(row, 'hasLent'));
  expect(rows).toEqual([
    { id: 1, books: 2, hasLent: true, first: 'a' },
    { id: 2, books: 0, hasLent: false, first: null },
  ]);
});

test('takes ids from a list', () => {
  const db = library();
  const params = { idsJson: JSON.stringify(['c', 'x', 'a']) };
  const unknown = query(({ idsJson }: Params<{ idsJson: string }>) =>
    select({ id: LISTED_ID })
      .from(listOf(idsJson))
      .leftJoin(books, eq(books.bookId, LISTED_ID))
      .where(sql`${books.bookId} is null`),
  );
  expect(unknown.all(db, params)).toEqual([{ id: 'x' }]);
  const listed = queryColumn(({ idsJson }: Params<{ idsJson: string }>) =>
    select({ id: books.bookId })
      .from(books)
      .where(isListed(books.bookId, idsJson))
      .orderBy(asc(books.bookId)),
  );
  expect(listed.all(db, params)).toEqual(['a', 'c']);
});
