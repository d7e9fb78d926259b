/** A damaged inbox is replaced, at the start or by the work that meets the damage (docs/architecture.md#inbox). */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';
import { inboxPath } from '../../src/inbox/inbox-file.ts';
import type { Missed } from '../../src/core/input.ts';
import { readMissed } from '../../src/inbox/missed.ts';
import { InboxWriter, openInboxWriter, type Append } from '../../src/receiver/inbox-writer.ts';
import { openForWriting } from '../../src/receiver/open-inbox.ts';
import { ownFile } from '../../src/sqlite/database-files.ts';
import type { SqliteFault } from '../../src/sqlite/errors.ts';
import { appended, unlocked } from '../mirror/direct-writer.ts';
import { delivery, item, newPath, T0 } from '../mirror/mirror-file.ts';

const PAGE_BYTES = 4_096;
const FLIPPED_BYTES = 8;

const HEARTBEAT: NonNullable<Append['heartbeat']> = {
  aliveAtMs: T0,
  clockMs: T0,
  sinceBootMs: 1_000,
  bootId: 'boot',
  isStopped: true,
  keptSocket: null,
  unsureSinceMs: null,
  publishedSeq: 60,
  reportJson: '{"lastSeq":60}',
};

/** Interior, leaf, overflow and index pages. */
function fill(inbox: InboxWriter): void {
  for (let n = 0; n < 60; n += 1) {
    const sku = 'x'.repeat(n % 20 === 0 ? 9_000 : 200);
    inbox.append(appended([{ body: delivery(`d${n}`, item({ sku })), arrivedAtMs: T0 + n }]));
  }
  inbox.append({ ...appended([]), heartbeat: HEARTBEAT });
}

/** The file of a stopped inbox. */
function filledBytes(): Buffer {
  const path = newPath();
  const inbox = openInboxWriter(path);
  fill(inbox);
  inbox.close();
  return readFileSync(inboxPath(path));
}

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  for (let i = at; i < at + FLIPPED_BYTES; i += 1) copy.writeUInt8(copy.readUInt8(i) ^ 0xff, i);
  return copy;
}

const missedIn = (path: string): Missed[] => {
  const db = new Database(inboxPath(path), { readonly: true });
  onTestFinished(() => void db.close());
  return db
    .prepare<[], Buffer>("SELECT body FROM inbox WHERE kind = 'missed' ORDER BY seq")
    .pluck()
    .all()
    .map((body) => readMissed(body, 0));
};

test('takes deliveries whichever page of its file is damaged', () => {
  const bytes = filledBytes();
  const pages = bytes.byteLength / PAGE_BYTES;
  expect(pages).toBeGreaterThan(15);
  const replaced = new Set<number>();
  for (let page = 0; page < pages; page += 1) {
    for (const at of [0, 24, PAGE_BYTES - 64]) {
      const path = newPath();
      writeFileSync(inboxPath(path), flipped(bytes, page * PAGE_BYTES + at));
      const inbox = openInboxWriter(path);
      const append = (body: Uint8Array): void => inbox.append(appended([{ body, arrivedAtMs: T0 + 99 }]));
      try {
        append(delivery('meets the damage', item()));
      } catch {
        // The file has been replaced.
      }
      expect(() => append(delivery('next', item())), `page ${page + 1}, byte ${at}`).not.toThrow();
      inbox.close();
      if (existsSync(ownFile(inboxPath(path), 'aside'))) replaced.add(page);
    }
  }
  expect(replaced.size).toBeGreaterThan(3);
});

test('notes that everything may have been missed in the new file, and keeps the damaged one', () => {
  const path = newPath();
  const damaged = filledBytes().fill(0x5a, PAGE_BYTES, 2 * PAGE_BYTES);
  writeFileSync(inboxPath(path), damaged);
  const replacements: [SqliteFault, string][] = [];
  const inbox = openInboxWriter(path, {
    now: () => T0 + 99,
    onReplaced: (...replacement) => void replacements.push(replacement),
  });
  onTestFinished(() => inbox.close());
  const aside = ownFile(inboxPath(path), 'aside');
  expect(readFileSync(aside).equals(damaged)).toBe(true);
  const fault = {
    kind: 'damaged',
    message: expect.stringContaining(`${inboxPath(path)} is damaged`) as string,
  };
  expect(replacements).toEqual([[expect.objectContaining(fault), aside]]);
  const killed: Missed = { why: 'killed', sinceMs: null, untilMs: T0 + 99, variantIds: null };
  expect(missedIn(path)).toEqual([killed]);
  expect(inbox.lastRun).toMatchObject({ isStopped: true, aliveAtMs: T0 + 99 });
});

test('replaces a file that a newer version of the program wrote', () => {
  const path = newPath();
  writeFileSync(inboxPath(path), filledBytes());
  const newer = new Database(inboxPath(path));
  newer.pragma('user_version = 2');
  newer.close();
  const inbox = openInboxWriter(path);
  onTestFinished(() => inbox.close());
  expect(missedIn(path)).toMatchObject([{ why: 'killed' }]);
  expect(existsSync(ownFile(inboxPath(path), 'aside'))).toBe(true);
});

test('replaces a file that is damaged while it is used, and continues its numbers', () => {
  const path = newPath();
  const inbox = openInboxWriter(path);
  onTestFinished(() => inbox.close());
  fill(inbox);
  const { lastSeq, inboxId } = inbox;
  const other = new Database(inboxPath(path));
  other.pragma('wal_checkpoint(TRUNCATE)');
  other.close();
  writeFileSync(inboxPath(path), readFileSync(inboxPath(path)).fill(0x5a, PAGE_BYTES));
  const rows = appended([{ body: delivery('next', item()), arrivedAtMs: T0 }]);
  const beat: Append = { ...rows, heartbeat: HEARTBEAT };
  expect(() => inbox.append(beat)).toThrow(expect.objectContaining({ code: 'SQLITE_CORRUPT' }));
  inbox.append(beat);
  inbox.check();
  expect(inbox.lastSeq).toBe(lastSeq + 2);
  expect(inbox.inboxId).not.toBe(inboxId);
  // The other hosts of a stream learn that it lacks rows.
  expect(inbox.unpublished(lastSeq).rows).toMatchObject([{ kind: 'missed' }, { kind: 'delivery' }]);
  expect(missedIn(path)).toMatchObject([{ why: 'killed' }]);
});

test.each([
  ['SQLITE_BUSY', false],
  ['SQLITE_FULL', false],
  ['SQLITE_READONLY', false],
  ['SQLITE_CANTOPEN', false],
  ['SQLITE_IOERR_FSYNC', false],
  ['SQLITE_CONSTRAINT', false],
  ['SQLITE_CORRUPT_INDEX', true],
  ['SQLITE_NOTADB', true],
  ['SQLITE_IOERR_SHORT_READ', true],
])('replaces a sound file after %s: %s', (code, isReplaced) => {
  const db = openForWriting(inboxPath(newPath()));
  onTestFinished(() => void db.close());
  const replace = vi.fn(() => unlocked(db));
  const inbox = new InboxWriter({ ...unlocked(db), replace });
  vi.spyOn(db, 'exec').mockImplementationOnce(() => {
    throw new Database.SqliteError('injected', code);
  });
  expect(() => inbox.append(appended([]))).toThrow('injected');
  expect(replace.mock.calls.length > 0).toBe(isReplaced);
});

test('leaves a file that another program holds at the start', () => {
  const path = newPath();
  writeFileSync(inboxPath(path), filledBytes());
  const holder = new Database(inboxPath(path));
  onTestFinished(() => void holder.close());
  holder.exec('BEGIN IMMEDIATE');
  expect(() => openInboxWriter(path)).toThrow(expect.objectContaining({ kind: 'busy' }));
  holder.exec('COMMIT');
  const inbox = openInboxWriter(path);
  expect(inbox.lastSeq).toBe(60);
  inbox.close();
  expect(existsSync(ownFile(inboxPath(path), 'aside'))).toBe(false);
});
