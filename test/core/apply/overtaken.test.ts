/** Requests for conflicts in a row (docs/architecture.md#conflicts-that-no-read-settles). */
import { expect, test } from 'vitest';
import { present } from '../../shared/present.ts';
import { type Mirror, mirrorAfterRead, PRODUCT, single, T0 } from '../builders.ts';

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
