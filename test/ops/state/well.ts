import { EARLIEST_MS } from '../../../src/core/limits.ts';
import type { StateFacts } from '../../../src/mirror/queries/state-facts.ts';
import type { ProcessFacts } from '../../../src/ops/state/state.ts';

/** A process in which nothing is wrong. */
export const wellAt = (nowMs: number): ProcessFacts => ({
  receiver: { lastGoodAtMs: nowMs - 300, isStopped: false, lastError: null },
  fault: null,
  behindSinceMs: null,
  blocked: null,
  clockAheadMs: null,
  refused: [],
  verification: null,
  stream: null,
  isMirror: true,
  isReady: true,
  lateSinceMs: null,
});

/** A file in which nothing is due. */
export const WELL_FILE: StateFacts = {
  epoch: '0a1b2c3d4e5f6071',
  trustedAfterMs: EARLIEST_MS,
  wayIn: 'proven',
  wayInSinceMs: 1,
  lastWebhookAtMs: 1,
  untold: null,
  products: 100,
  hasFullSync: true,
  hasUnread: false,
  oldestReadAtMs: null,
  isReadOverdue: false,
  givenUpReads: 0,
  givenUpLive: 0,
  listGap: null,
  heldRemovals: 0,
};
