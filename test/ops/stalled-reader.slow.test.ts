/** A consumer that does not read costs nothing: no more is read for it than its socket takes, and after a time it is cut. */
import { expect, test, vi } from 'vitest';
import { eventually, throughout } from '../process/wait.ts';
import { newStore } from '../reconcile/mirror.ts';
import { EventReader } from './events.ts';
import { startOps } from './harness.ts';

const ROWS = 200_000;

// The cut itself takes ten seconds.
test('a stream that nobody reads from', { timeout: 60_000 }, async () => {
  const store = newStore();
  store.change(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO changes (seq, log_seq, variant_id, source, recorded_at_ms) SELECT i, 1, '100', 'read', 0 FROM n`,
    ROWS,
  );
  store.change('UPDATE mirror_state SET change_seq = ?', ROWS);
  const asked = vi.spyOn(store.reader, 'ask');
  const info = vi.fn();
  const ops = await startOps(store, {
    log: { info, warn: info, error: info } as never,
  });
  const stalled = new EventReader(`${ops.url}/api/changes/stream?after=0`, { isReading: false });
  await eventually(() => stalled.status === 200, { what: 'the stream' });
  let before = -1;
  let sinceMs = 0;
  await eventually(
    () => {
      const now = asked.mock.calls.length;
      if (now !== before) [before, sinceMs] = [now, performance.now()];
      // Between two pages the kernel's queue is looked at, which takes a moment.
      return performance.now() - sinceMs > 1_000;
    },
    { what: 'its socket is full' },
  );
  // Of some forty megabytes, only what fits between the two ends.
  expect(asked.mock.calls.length).toBeLessThan(ROWS / 500 / 2);
  const full = asked.mock.calls.length;
  await throughout(2_000, () => expect(asked.mock.calls.length).toBe(full));

  // Others are told meanwhile, and whole.
  const reading = new EventReader(`${ops.url}/api/changes/stream?after=${ROWS - 700}`);
  await eventually(() => reading.seqs.length === 700, { what: 'the others' });

  await eventually(() => info.mock.calls.some(([text]) => String(text).includes('took nothing')), {
    what: 'the cut',
    withinMs: 30_000,
  });
  stalled.read();
  await eventually(() => stalled.isOver, { what: 'the end' });
  expect(stalled.seqs.length).toBeLessThan(ROWS);
  // What it has is a whole beginning, and it goes on from there.
  const { lastId } = stalled;
  expect(Number(lastId)).toBe(stalled.seqs.at(-1) ?? 0);
  const again = new EventReader(`${ops.url}/api/changes/stream`, { lastId });
  await eventually(() => stalled.seqs.length + again.seqs.length === ROWS, {
    what: 'the rest',
    withinMs: 40_000,
  });
});
