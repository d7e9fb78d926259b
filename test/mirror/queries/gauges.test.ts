import { expect, test } from 'vitest';
import * as queries from '../../../src/mirror/reader/queries.ts';
import { delivery, detail, DirectWriter, item, T0 } from '../mirror-file.ts';

const one = (id: string, qty = 1) => [{ id, levels: { 1: qty } }];

test('samples the status and file sizes', () => {
  const writer = new DirectWriter();
  const { db } = writer;
  for (const n of ['10', '11']) writer.read(n, detail(n, one(`${n}0`, 5)), T0);
  writer.deliver(delivery('a', item({ id: '110', old: 3, new: 2, update_time: T0 + 11_000 })), T0 + 11_000);
  writer.requestReads('not_stored', ['10', '11'], T0 + 20_000);
  const { status, ...sample } = queries.stateSample(db);
  expect(status).toEqual(queries.status(db));
  expect(status).toMatchObject({ open_gaps: 1, suspect_count: 2, pending_reads: 2 });

  expect(sample.databaseBytes % 4_096).toBe(0);
  expect(sample.databaseBytes).toBeGreaterThan(4_096);
  for (const bytes of [sample.walBytes, sample.diskFreeBytes]) expect(bytes).toBeGreaterThan(0);
});

test('counts no removal that waits to be confirmed as a pending read, and no search', () => {
  const writer = new DirectWriter();
  const { db } = writer;
  for (const n of ['10', '11']) writer.read(n, detail(n, one(`${n}0`)), T0);
  expect(queries.status(db)).toMatchObject({ pending_reads: 0, pending_removals: 0, searched_variants: 0 });
  // The last change of a product that the store has deleted since: its variant is searched for.
  writer.deliver(delivery('a', item({ id: '110', old: 1, new: 0, update_time: T0 + 9_000 })), T0 + 9_000);
  writer.read('11', null, T0 + 60_000);
  expect(queries.status(db)).toMatchObject({ pending_reads: 0, pending_removals: 1 });
  writer.remove('11', T0 + 90_000);
  expect(queries.status(db)).toMatchObject({ pending_reads: 0, pending_removals: 0, searched_variants: 1 });
});
