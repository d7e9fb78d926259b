/** Removals that an operator decided, after the mirror is restored from an older copy. */
import { appendFileSync, copyFileSync, readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { inboxPath } from '../../src/inbox/inbox-file.ts';
import { readDecisions } from '../../src/mirror/decisions-note.ts';
import type { NewInput } from '../../src/mirror/writer/applier.ts';
import { openOwnMirror, type OwnMirror } from '../../src/mirror/writer/serve-apply.ts';
import { openForWriting } from '../../src/receiver/open-inbox.ts';
import { ownFile } from '../../src/sqlite/database-files.ts';
import { detail, newPath, readInput, T0, values } from './mirror-file.ts';

const IDS = ['1', '2', '3'];
const S = 1_000;

function open(path: string): OwnMirror {
  const own = openOwnMirror(path, { nowMs: T0, now: () => T0, damaged: null });
  onTestFinished(() => own.close({ isOrderly: false }));
  return own;
}

function apply(own: OwnMirror, ...inputs: readonly NewInput[]): void {
  for (const input of inputs) {
    const step = own.applier.step([{ kind: 'input', input }]);
    own.noteDecisions(step?.reports ?? []);
  }
}

const reads = (sentAtMs: number, isThere: boolean): NewInput[] =>
  IDS.map((id) =>
    readInput(id, isThere ? detail(id, [{ id: `${id}00`, levels: { 1: 5 } }]) : null, { sentAtMs }),
  );

/** Reads that confirm the absence, and a list that does not name the products. */
function miss(own: OwnMirror, atMs: number): void {
  const listedAtMs = atMs + 9 * S;
  apply(own, ...reads(atMs, false));
  apply(own, { kind: 'list_completed', atMs: listedAtMs, sentAtMs: listedAtMs });
  apply(own, ...reads(atMs + 40 * S, false));
}

const kept = (own: OwnMirror) =>
  values(own.db, 'SELECT product_id FROM products WHERE gone_at_ms IS NULL ORDER BY product_id');

const decision = (over: object) => ({
  kind: 'allow_removals' as const,
  atMs: T0 + 100 * S,
  productIds: null,
  by: 'Ana',
  reason: 'end of season',
  runId: 1,
  ...over,
});

test('are carried out in a restored mirror without a further decision', () => {
  const path = newPath();
  openForWriting(inboxPath(path)).close();
  const first = open(path);
  apply(first, ...reads(T0, true));
  first.db.pragma('wal_checkpoint(TRUNCATE)');
  const older = `${path}.older`;
  copyFileSync(path, older);
  miss(first, T0 + 10 * S);
  expect(kept(first)).toEqual(IDS);
  apply(first, decision({ productIds: ['1', '2'] }), ...reads(T0 + 110 * S, false));
  expect(kept(first)).toEqual(['3']);
  first.close({ isOrderly: true });

  copyFileSync(older, path);
  const restored = open(path);
  expect(restored.newEpoch?.why).toMatch(/older/);
  expect(kept(restored)).toEqual(IDS);
  miss(restored, T0 + 200 * S);
  expect(kept(restored)).toEqual(['3']);
});

test('are noted with name, reason and products, and read up to a torn line', () => {
  const path = newPath();
  openForWriting(inboxPath(path)).close();
  const own = open(path);
  apply(own, ...reads(T0, true), decision({ productIds: ['2', 'unknown'] }));
  const note = ownFile(path, 'decisions');
  expect(JSON.parse(readFileSync(note, 'utf8'))).toEqual({
    at: T0 + 100 * S,
    by: 'Ana',
    reason: 'end of season',
    product_ids: ['2'],
  });
  appendFileSync(note, '{"at":1,"by":"B');
  apply(own, decision({ productIds: ['3'], by: 'Cleo' }));
  expect(readDecisions(path)).toEqual([
    { by: 'Ana', productIds: ['2'] },
    { by: 'Cleo', productIds: ['3'] },
  ]);
});
