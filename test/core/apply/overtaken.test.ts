/** A product that changes while it is read (docs/architecture.md#conflicts-that-no-read-settles). */
import { expect, test } from 'vitest';
import { OVERTAKEN_PAUSE_MAX_MS, REPLICA_LAG_MS } from '../../../src/core/limits.ts';
import { present } from '../../shared/present.ts';
import {
  change,
  Mirror,
  mirrorAfterRead,
  PRODUCT,
  productSnapshot,
  single,
  T0,
  variantSnapshot,
} from '../builders.ts';

const HOUR = 3_600_000;
const TOOK_MS = 50;
const STEP_MS = 50;
/** A request is met 2 s after its cause at the earliest, and that read may be overtaken once more. */
const LONGEST_MS = OVERTAKEN_PAUSE_MAX_MS + 2 * REPLICA_LAG_MS;

/** The first ones follow each other more closely. */
const READS_AN_HOUR = HOUR / OVERTAKEN_PAUSE_MAX_MS + 10;

/** The same numbers each time (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Measured {
  readonly reads: number;
  readonly longestPauseMs: number;
  readonly settledAfterMs: number;
}

/**
 * Changes come promptly, in any of four warehouses, for an hour; every request is read when it is due, and replicas
 * lag by up to 2 s.
 */
function measure(changesPerSecond: number, seed: number): Measured {
  const random = randomOf(seed);
  const mirror = new Mirror();
  const qty: Record<string, number> = { 1: 500, 2: 500, 3: 500, 4: 500 };
  const states = [{ atMs: T0, qty: { ...qty } }];
  const snapshotAt = (atMs: number) =>
    productSnapshot([variantSnapshot(present(states.findLast((state) => state.atMs <= atMs)).qty)]);
  mirror.read(snapshotAt(T0), { sentAtMs: T0 });
  let reads = 0;
  let longestPauseMs = 0;
  let lastReadMs = T0;
  let suspectSinceMs: number | null = null;
  // A read in the middle of the first hour leaves the first conflict.
  mirror.requestReads(T0 + 60_000, 'listed', [PRODUCT]);
  for (let atMs = T0 + 60_000; ; atMs += STEP_MS) {
    const isBusy = atMs < T0 + 60_000 + HOUR;
    if (isBusy && random() < (changesPerSecond * STEP_MS) / 1_000) {
      const warehouseId = String(1 + Math.floor(random() * 4));
      const old = present(qty[warehouseId]);
      qty[warehouseId] = old - 1;
      states.push({ atMs, qty: { ...qty } });
      mirror.deliver(atMs + 20, change({ warehouseId, old, new: old - 1, updateTimeMs: atMs }));
    }
    const request = mirror.tables.readRequest(PRODUCT);
    if (request?.isSuspect === true) suspectSinceMs ??= atMs;
    else suspectSinceMs = null;
    if (request === undefined) {
      if (!isBusy) return { reads, longestPauseMs, settledAfterMs: lastReadMs - (T0 + 60_000 + HOUR) };
      // A scheduled read every ten minutes, which may be overtaken.
      if (atMs - lastReadMs >= 600_000) mirror.requestReads(atMs, 'listed', [PRODUCT]);
      continue;
    }
    if (request.notBeforeMs > atMs) continue;
    if (suspectSinceMs !== null && suspectSinceMs <= lastReadMs) {
      longestPauseMs = Math.max(longestPauseMs, atMs - lastReadMs);
    }
    const sampledMs = atMs - Math.floor(random() * REPLICA_LAG_MS);
    mirror.read(snapshotAt(sampledMs), { sentAtMs: atMs + 30, receivedAtMs: atMs + 30 + TOOK_MS });
    lastReadMs = atMs;
    reads += 1;
  }
}

test.each([0.1, 0.4, 2])('is read again within half a minute at %d changes a second', (rate) => {
  for (const seed of [1, 2, 3]) {
    const { reads, longestPauseMs, settledAfterMs } = measure(rate, seed);
    expect(reads).toBeLessThanOrEqual(READS_AN_HOUR);
    expect(longestPauseMs).toBeLessThanOrEqual(LONGEST_MS);
    expect(settledAfterMs).toBeLessThanOrEqual(LONGEST_MS);
  }
});

const S = 1_000;

/** The mirror after reads for conflicts in a row, each as soon as it was due. */
function afterConflictReads(count: number): { readonly mirror: Mirror; readonly lastMs: number } {
  const mirror = mirrorAfterRead();
  let lastMs = T0;
  for (let i = 0; i < count; i += 1) {
    mirror.requestReads(lastMs, 'conflict', [PRODUCT]);
    lastMs = present(mirror.tables.readRequest(PRODUCT)).notBeforeMs;
    mirror.read(single(5), { sentAtMs: lastMs });
  }
  expect(mirror.tables.product(PRODUCT)?.conflictReads).toBe(count);
  return { mirror, lastMs };
}

test.each([
  [0, 2 * S],
  [2, 2 * S],
  [3, 4 * S],
  [4, 8 * S],
  [10, 512 * S],
  [11, 900 * S],
])('after %d reads for conflicts, the next conflict waits %d ms', (count, pauseMs) => {
  const { mirror, lastMs } = afterConflictReads(count);
  mirror.requestReads(lastMs, 'conflict', [PRODUCT]);
  expect(mirror.tables.readRequest(PRODUCT)?.notBeforeMs).toBe(lastMs + pauseMs);
});

test.each([
  [0, S],
  [2, 4 * S],
  [3, 8 * S],
  [5, 30 * S],
  [6, 30 * S],
  [11, 30 * S],
])('after %d reads for conflicts, one that a change overtakes is repeated after %d ms', (count, pauseMs) => {
  const { mirror, lastMs } = afterConflictReads(count);
  mirror.requestReads(lastMs, 'conflict', [PRODUCT]);
  const dueMs = present(mirror.tables.readRequest(PRODUCT)).notBeforeMs;
  mirror.requestReads(dueMs - S, 'conflict', [PRODUCT]);
  mirror.read(single(5), { sentAtMs: dueMs });
  expect(mirror.tables.readRequest(PRODUCT)?.notBeforeMs).toBe(dueMs + pauseMs);
});

test('a read that comes too early for a request does not bring it forward', () => {
  const { mirror, lastMs } = afterConflictReads(4);
  mirror.requestReads(lastMs, 'conflict', [PRODUCT]);
  mirror.read(single(5), { sentAtMs: lastMs + S });
  expect(mirror.tables.readRequest(PRODUCT)?.notBeforeMs).toBe(lastMs + 9 * S);
});
