import { describe, expect, test } from 'vitest';
import {
  serveProjection,
  type FromProjection,
  type ToProjection,
} from '../../../src/mirror/writer/apply-loop.ts';
import { burstPauseMs } from '../../../src/mirror/writer/burst-pause.ts';
import type { Projection } from '../../../src/mirror/writer/projection.ts';

describe('the pause after a transaction', () => {
  test.each([
    { tookMs: 10, waiting: 64, left: 1, pauseMs: 30 },
    { tookMs: 10, waiting: 63, left: 1, pauseMs: 0 },
    { tookMs: 90, waiting: 256, left: 500_000, pauseMs: 100 },
    { tookMs: 90, waiting: 256, left: 500_001, pauseMs: 0 },
  ])('of $tookMs ms, $waiting waiting, $left left: $pauseMs ms', ({ pauseMs, ...load }) => {
    expect(burstPauseMs(load)).toBe(pauseMs);
  });
});

/** The loop over a projection that applies an entry a transaction. @param during what arrives while it is applied. */
function pausesOf(entries: number, during: (appliedSeq: number) => readonly ToProjection[]): boolean[] {
  const inbox: ToProjection[] = [];
  const pauses: boolean[] = [];
  let serve: (message: ToProjection) => void = () => undefined;
  const projection = {
    appliedSeq: 0,
    step: () => {
      projection.appliedSeq += 1;
      inbox.push(...during(projection.appliedSeq));
      const untilMs = performance.now() + 1;
      while (performance.now() < untilMs);
      return { appliedSeq: projection.appliedSeq, entries: 1, reports: [], results: [] };
    },
  };
  const posted: FromProjection[] = [];
  serveProjection(
    {
      post: (message) => void posted.push(message),
      onMessage: (listener) => (serve = listener),
      take: () => inbox.shift(),
      close: () => undefined,
    },
    () => ({
      db: null as never,
      projection: projection as unknown as Projection,
      look: () => [],
      position: { epoch: 'first', appliedSeq: 0, changeSeq: 0, isBackup: false },
      newEpoch: null,
      markStopped: () => undefined,
      close: () => undefined,
    }),
    (ms) => void pauses.push(ms > 0),
  );
  serve({ type: 'open', lastSeq: entries, endSeq: entries, condemned: null });
  expect(posted.filter(({ type }) => type === 'applied')).toHaveLength(entries);
  serve({ type: 'close' });
  return pauses;
}

const busy = (lastSeq: number): ToProjection => ({ type: 'apply', lastSeq, waiting: 200 });

describe('the projection', () => {
  test('pauses while deliveries wait, and applies what the burst has left without a pause', () => {
    const pauses = pausesOf(6, (seq) => (seq <= 2 ? [busy(6)] : []));
    expect(pauses).toEqual([true, true, false, false, false, false]);
  });

  test('does not pause once it is to close', () => {
    const pauses = pausesOf(3, (seq) => (seq === 1 ? [busy(3), { type: 'close', id: 2 }] : []));
    expect(pauses).not.toContain(true);
  });
});
