/** Followers that stop reading: what the kernel holds for them is bounded, and gone when they are cut. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { eventually } from '../process/wait.ts';
import { newStore } from '../reconcile/mirror.ts';
import { EventReader } from './events.ts';
import { startOps } from './harness.ts';

/** Some megabytes for each of them. */
const ROWS = 50_000;
const FOLLOWERS = 40;

/** What the kernel holds of what was sent from this port and not taken yet. */
function sentBytes(port: number): number {
  const from = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = '']) => local.endsWith(from))
    .reduce((sum, [, , , , queues = '']) => sum + (parseInt(queues.split(':')[0] ?? '', 16) || 0), 0);
}

test(
  'followers that stop reading do not fill the kernel, and leave nothing behind',
  { timeout: 60_000 },
  async (t) => {
    const store = newStore();
    store.change(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO changes (seq, log_seq, variant_id, source, recorded_at_ms) SELECT i, 1, '100', 'read', 0 FROM n`,
      ROWS,
    );
    store.change('UPDATE mirror_state SET change_seq = ?', ROWS);
    const ops = await startOps(store);
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, sentBytes(ops.port))), 100);
    t.onTestFinished(() => clearInterval(watch));
    const followers = Array.from(
      { length: FOLLOWERS },
      () => new EventReader(`${ops.url}/api/changes/stream?after=0`, { isReading: false }),
    );
    await eventually(() => followers.every(({ status }) => status === 200), { what: 'the streams' });
    // One that reads is not held up meanwhile.
    const reading = new EventReader(`${ops.url}/api/changes/stream?after=0`);
    await eventually(() => reading.seqs.length === ROWS, { what: 'all of it', withinMs: 40_000 });
    reading.cut();
    await t.annotate(`${(most / 2 ** 20).toFixed(1)} MB at most in send queues`);
    await eventually(() => most > 0 && sentBytes(ops.port) === 0, {
      what: 'nothing is left',
      withinMs: 30_000,
    });
    expect(most / FOLLOWERS).toBeLessThan(1 << 20);
  },
);
