import { expect, test } from 'vitest';
import { EARLIEST_MS } from '../../../src/core/limits.ts';
import { StateWatch } from '../../../src/ops/state/state-watch.ts';
import type { VerificationBound } from '../../../src/core/verification-bound.ts';
import { T0 } from '../../mirror/mirror-file.ts';
import { log, newDatabases } from '../../reconcile/mirror.ts';

const HOUR = 3_600_000;

test.each<[string, VerificationBound | null, number]>([
  ['the bound and a tenth ago', { withinMs: 2 * HOUR, maxReadsPerSecond: 10 }, T0 - 2.2 * HOUR],
  ['never, if nothing is verified by schedule', null, EARLIEST_MS],
])('a heartbeat says since when values must have been checked: %s', async (_, bound, sinceMs) => {
  const databases = newDatabases();
  const watch = new StateWatch({
    reader: databases.mirror,
    writer: databases.mirror,
    log,
    now: () => T0,
    blocked: () => null,
    clockAheadMs: () => null,
    verification: () => bound,
    status: () => null,
    isReady: () => true,
  });
  await watch.beat(T0);
  expect(databases.rows('SELECT checked_since_ms AS sinceMs FROM service_state')).toEqual([{ sinceMs }]);
});
