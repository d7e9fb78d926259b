/** The read queue (docs/architecture.md#queue). */
import type { RunKind } from '../../../src/core/runs.ts';
import { describe, expect, test } from 'vitest';
import { HELD_MS } from '../../../src/core/limits.ts';
import type { ReadRequest } from '../../../src/core/model.ts';
import { dueReads, nextReads, verificationOutlook } from '../../../src/mirror/queries/queue.ts';
import { OF_FAILURES } from '../../../src/mirror/writer/table-statements.ts';
import { insertInto } from '../../../src/mirror/file/statements.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { delivery, detail, DirectWriter, item, T0, values } from '../mirror-file.ts';
import { missedAt } from '../../core/builders.ts';

const NOW = T0 + 1_000_000;

function product(db: Db, productId: string, readAtMs: number, goneAtMs: number | null = null): void {
  db.prepare(insertInto(db, 'products')).run({
    productId,
    name: null,
    parentId: null,
    updateTimeMs: null,
    readAtMs,
    readUntilMs: readAtMs,
    missingAtMs: null,
    goneAtMs,
    hasBundle: 0,
    conflictReads: 0,
    removalAllowedBy: null,
    evidenceAtMs: readAtMs,
  });
}

function requestRead(db: Db, productId: string, over: Partial<ReadRequest> = {}): void {
  const made = { madeAtMs: T0, firstMadeAtMs: T0, notBeforeMs: T0, ...over };
  db.prepare(insertInto(db, 'due_reads', OF_FAILURES)).run({
    productId,
    reason: 'conflict',
    priority: 1,
    ...made,
    isSuspect: 1,
  });
}

interface Failed {
  readonly retryAtMs?: number;
  readonly parked?: boolean;
  readonly priority?: number;
}

function failed(writer: DirectWriter, productId: string, over: Failed = {}): void {
  const { retryAtMs = 0, parked = false, priority = 4 } = over;
  writer.command('failRead', {
    productId,
    priority,
    attempts: 1,
    faults: 1,
    retryAtMs,
    parked,
    isGivenUp: parked,
    error: 'x',
    atMs: T0,
  });
}

function run(writer: DirectWriter, kind: RunKind, readAfterMs: number): number {
  return writer.beginRun({ run: kind, readAfterMs });
}

const due = (db: Db, limit = 100, exclude: readonly string[] = []): string[] =>
  dueReads(db, { nowMs: NOW, limit, exclude }).map(({ productId }) => productId);

describe('a re-read request', () => {
  test('comes by priority, then by age', () => {
    const { db } = new DirectWriter();
    requestRead(db, '1', { priority: 4 });
    requestRead(db, '2', { priority: 1, firstMadeAtMs: T0 + 5 });
    requestRead(db, '3', { priority: 1, firstMadeAtMs: T0 + 2 });
    requestRead(db, '4', { priority: 0, firstMadeAtMs: T0 + 9 });
    expect(due(db)).toEqual(['4', '3', '2', '1']);
    expect(due(db, 2)).toEqual(['4', '3']);
  });

  test('waits until a read can meet it', () => {
    const { db } = new DirectWriter();
    requestRead(db, '1', { notBeforeMs: NOW });
    requestRead(db, '2', { notBeforeMs: NOW + 1 });
    expect(due(db)).toEqual(['1']);
  });

  test('waits while its product is being read, failed lately or is given up', () => {
    const writer = new DirectWriter();
    for (const id of ['1', '2', '3', '4', '5']) requestRead(writer.db, id);
    failed(writer, '2', { retryAtMs: NOW + 1 });
    failed(writer, '3', { retryAtMs: NOW });
    failed(writer, '4', { parked: true });
    expect(due(writer.db, 100, ['1'])).toEqual(['5', '3']);
    writer.command('retryFailures', undefined);
    expect(due(writer.db, 100, ['1'])).toEqual(['2', '3', '4', '5']);
  });
});

interface Due {
  readonly variantId: string;
  readonly productId: string | null;
  readonly dueAtMs: number;
  readonly seq?: number;
}

function gap(db: Db, { variantId, productId, dueAtMs, seq = 1 }: Due): void {
  const known = values(db, 'SELECT 1 FROM variants WHERE variant_id = ?', variantId).length > 0;
  if (!known) {
    db.prepare(
      `INSERT INTO variants (variant_id, product_id, name, kind, allow_negative_stock, bundled_by_count, as_of_ms,
           event_at_ms, change_seq) VALUES (?, ?, '', 'own', 0, 0, 0, 0, 0)`,
    ).run(variantId, productId);
  }
  db.prepare(insertInto(db, 'gaps')).run({
    variantId,
    warehouseId: '1',
    inboxSeq: seq,
    kind: 'loss',
    openedAtMs: T0,
    dueAtMs,
    fromQty: 1,
    toQty: 2,
  });
}

test('a pause of a request keeps no other reason waiting, also after a failure', () => {
  const writer = new DirectWriter();
  product(writer.db, '1', T0);
  requestRead(writer.db, '1', { notBeforeMs: NOW + 1 });
  failed(writer, '1', { retryAtMs: NOW });
  expect(due(writer.db)).toEqual([]);
  run(writer, 'scheduled', T0 + 10);
  expect(due(writer.db)).toEqual(['1']);
  failed(writer, '1', { retryAtMs: NOW + 1 });
  expect(due(writer.db)).toEqual([]);
});

test('a gap is read after its grace, after requests and before the rest, longest due first', () => {
  const writer = new DirectWriter();
  product(writer.db, '9', T0);
  writer.append(missedAt(T0 + 1_000));
  gap(writer.db, { variantId: '300', productId: '3', dueAtMs: NOW - 20 });
  gap(writer.db, { variantId: '100', productId: '1', dueAtMs: NOW });
  gap(writer.db, { variantId: '100', productId: '1', dueAtMs: NOW - 9, seq: 2 });
  gap(writer.db, { variantId: '101', productId: '1', dueAtMs: NOW - 5 });
  gap(writer.db, { variantId: '200', productId: '2', dueAtMs: NOW + 1 });
  gap(writer.db, { variantId: '400', productId: null, dueAtMs: NOW - 9 });
  requestRead(writer.db, '5', { priority: 1 });
  expect(due(writer.db)).toEqual(['5', '3', '1', '9']);
  expect(due(writer.db, 2)).toEqual(['5', '3']);
  expect(due(writer.db, 100, ['1'])).toEqual(['5', '3', '9']);
});

test('after downtime reads every live product, most recently active first', () => {
  const writer = new DirectWriter();
  for (const [productId, variantId] of [
    ['10', '100'],
    ['11', '110'],
  ] as const) {
    writer.read(productId, detail(productId, [{ id: variantId, levels: { 1: 5 } }]), T0);
  }
  product(writer.db, '30', T0 - 5);
  product(writer.db, '31', T0 - 9);
  product(writer.db, '32', T0 - 7, T0);
  product(writer.db, '33', NOW);
  writer.deliver(delivery('a', item({ id: '110', update_time: T0 + 20_000 })), T0 + 20_000);
  writer.deliver(delivery('b', item({ id: '100', update_time: T0 + 30_000 })), T0 + 30_000);
  expect(due(writer.db)).toEqual([]);
  writer.append(missedAt(T0 + 100_000));
  expect(due(writer.db)).toEqual(['10', '11', '30', '31']);
  expect(due(writer.db, 1)).toEqual(['10']);
  writer.read('10', detail('10', [{ id: '100', levels: { 1: 4 } }]), T0 + 200_000);
  expect(due(writer.db)).toEqual(['11', '30', '31']);
});

test('a scan of the catalogue reads each product once with the priority of its kind', () => {
  const writer = new DirectWriter();
  product(writer.db, '1', T0);
  product(writer.db, '2', T0 + 50);
  requestRead(writer.db, '7', { priority: 3 });
  const scheduled = run(writer, 'scheduled', T0 + 10);
  expect(due(writer.db)).toEqual(['7', '1']);
  run(writer, 'operator', T0 + 100);
  expect(due(writer.db)).toEqual(['1', '2', '7']);
  for (const id of [scheduled, scheduled + 1]) writer.endRun(id);
  expect(due(writer.db)).toEqual(['7']);
});

interface Next {
  readonly limit?: number;
  readonly exclude?: readonly string[];
  readonly turnBeforeMs?: number;
  readonly scheduled?: number;
}

function next({ db }: DirectWriter, { limit = 9, exclude = [], turnBeforeMs, scheduled = 0 }: Next) {
  const args = { nowMs: NOW, limit, exclude, turnBeforeMs: turnBeforeMs ?? null, scheduled };
  const found = nextReads(db, args);
  return { scheduled: found.scheduled, due: found.due.map(({ productId }) => productId) };
}

test('gives a turn to the product read longest ago, whatever is due', () => {
  const writer = new DirectWriter();
  product(writer.db, '1', T0 + 2);
  product(writer.db, '2', T0 + 1);
  product(writer.db, '3', T0, T0);
  product(writer.db, '4', T0);
  failed(writer, '4', { parked: true });
  for (const id of ['8', '9']) requestRead(writer.db, id);
  const limit = 2;
  expect(next(writer, { limit })).toEqual({ scheduled: [], due: ['8', '9'] });
  const turn = { limit, turnBeforeMs: NOW };
  expect(next(writer, turn)).toEqual({ scheduled: ['2'], due: ['8'] });
  expect(next(writer, { ...turn, exclude: ['2'] })).toEqual({ scheduled: ['1'], due: ['8'] });
  expect(next(writer, { ...turn, scheduled: 2 })).toEqual({ scheduled: ['2'], due: ['8'] });
  expect(next(writer, { limit, turnBeforeMs: T0 + 1 })).toEqual({ scheduled: [], due: ['8', '9'] });
  requestRead(writer.db, '2', { priority: 4 });
  expect(next(writer, turn)).toEqual({ scheduled: ['2'], due: ['8'] });
});

test('reads an untried product before a retry of the same priority', () => {
  const writer = new DirectWriter();
  for (const [id, priority] of [
    ['1', 0],
    ['2', 1],
    ['3', 1],
    ['4', 1],
  ] as const) {
    requestRead(writer.db, id, { priority, firstMadeAtMs: T0 + Number(id) });
  }
  product(writer.db, '5', T0);
  product(writer.db, '6', T0 + 1);
  run(writer, 'scheduled', T0 + 10);
  for (const id of ['1', '2', '3', '5']) failed(writer, id, { retryAtMs: NOW - Number(id) });
  expect(due(writer.db)).toEqual(['1', '4', '2', '3', '6', '5']);
  expect(due(writer.db, 2)).toEqual(['1', '4']);
});

test('reads by schedule the products read longest ago, whatever webhooks they had', () => {
  const writer = new DirectWriter();
  for (const n of [0, 1, 2, 3]) {
    writer.read(`1${n}`, detail(`1${n}`, [{ id: `1${n}0`, levels: { 1: 5 } }]), T0 + n);
  }
  writer.deliver(delivery('a', item({ id: '110', update_time: T0 + 20_000 })), T0 + 20_000);
  writer.db.exec('DELETE FROM due_reads');
  const scheduled = (most: number, exclude: readonly string[] = []) =>
    next(writer, { scheduled: most, exclude }).scheduled;
  expect(scheduled(9)).toEqual(['10', '11', '12', '13']);
  expect(scheduled(2)).toEqual(['10', '11']);
  expect(scheduled(2, ['10'])).toEqual(['11', '12']);
  expect(scheduled(0)).toEqual([]);
  writer.remove('12', T0 + 60_000);
  expect(scheduled(9)).toEqual(['10', '11', '13']);
  failed(writer, '10', { retryAtMs: NOW + 1 });
  expect([scheduled(9), verificationOutlook(writer.db, { nowMs: NOW })]).toEqual([
    ['11', '13'],
    { products: 3, oldestReadAtMs: T0 + 1 },
  ]);
});

test('reads a product by schedule once, also if it is due', () => {
  const writer = new DirectWriter();
  product(writer.db, '1', T0);
  product(writer.db, '2', T0 + 1);
  requestRead(writer.db, '1');
  expect(next(writer, { scheduled: 9 })).toEqual({ scheduled: ['2'], due: ['1'] });
  expect(next(writer, { scheduled: 9, turnBeforeMs: NOW })).toEqual({ scheduled: ['1', '2'], due: [] });
});

test('reads a product whose removal the guard holds by schedule, unless its reads wait after a failure', () => {
  const writer = new DirectWriter();
  product(writer.db, '1', T0);
  requestRead(writer.db, '1', { notBeforeMs: HELD_MS });
  const scheduled = () => next(writer, { scheduled: 9 }).scheduled;
  expect(scheduled()).toEqual(['1']);
  failed(writer, '1', { retryAtMs: NOW + 1 });
  expect(scheduled()).toEqual([]);
  failed(writer, '1', { retryAtMs: NOW });
  expect(scheduled()).toEqual(['1']);
});

test('reads nothing by schedule while the reads that are due leave no room', () => {
  const writer = new DirectWriter();
  product(writer.db, '1', T0);
  for (const id of ['8', '9']) requestRead(writer.db, id);
  expect(next(writer, { limit: 2, scheduled: 5 }).scheduled).toEqual([]);
  expect(next(writer, { limit: 3, scheduled: 5 }).scheduled).toEqual(['1']);
});
