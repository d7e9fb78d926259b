/** (i) From a start after downtime until the mirror equals the store, against what the permitted rate allows. */
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import Database from 'better-sqlite3';
import { eventLogPath } from '../../../src/event-log/open-log.ts';
import type { Bench, Part } from '../bench.ts';
import type { Child } from '../child.ts';
import { atMost, type Row } from '../row.ts';
import { untilEnded } from '../run.ts';
import { startMirror } from '../mirror.ts';
import { startSynced } from '../synced.ts';
import { environmentOf, Upstream } from '../upstream.ts';

const PRODUCTS = 10_000;
const QUICK_PRODUCTS = 250;
const MAX_RPS = 50;
/** One in ten products was sold or counted while nothing listened. */
const CHANGED_SHARE = 0.1;
const DOWN_MS = 3_600_000;

async function run({ quick, folder, say }: Bench): Promise<Row[]> {
  const products = quick ? QUICK_PRODUCTS : PRODUCTS;
  const minimumMs = (products / MAX_RPS) * 1_000;
  const databasePath = join(folder, 'recovery.db');
  const upstream = new Upstream();
  let mirror: Child | null = null;
  try {
    const service = await upstream.ask('serve', { products, latencyMs: 0 });
    const env = environmentOf(service, databasePath);
    ({ mirror } = await startSynced(env, folder, service.products));
    await mirror.end();
    await upstream.ask('change', { levels: Math.floor(products * CHANGED_SHARE) });
    silence(databasePath);
    const { different: changed } = await upstream.ask('compare', { databasePath, known: 'read' });
    if (changed === 0) throw new Error('nothing has changed: there is nothing to recover from');

    say(
      `${changed} levels of ${products} products differ; ${minimumMs / 1_000} s at ${MAX_RPS}/s at the least`,
    );
    const startedMs = performance.now();
    const listened = Date.now();
    mirror = startMirror({ ...env, SERVICE_MAX_RPS: String(MAX_RPS) }, folder);
    const at = await mirror.listening();
    const startMs = performance.now() - startedMs;
    // The first run was the first read of everything; the second is this one.
    const { finished_at: finishedAtMs, kind, drift } = await untilEnded(at, 2, minimumMs * 2 + 30_000);
    if (kind !== 'downtime') throw new Error(`a run for downtime was expected, not one for ${kind}`);
    const tookMs = (finishedAtMs ?? Number.NaN) - listened;
    const { different } = await upstream.ask('compare', { databasePath, known: 'read' });
    if (different > 0) throw new Error(`${different} levels differ after the run`);

    const ratio = tookMs / minimumMs;
    return [
      {
        part: 'i',
        what: `start after downtime until equal, ${products} products at ${MAX_RPS}/s`,
        ours: `${(tookMs / 1_000).toFixed(1)} s, ${changed} levels repaired`,
        against: `${(minimumMs / 1_000).toFixed(0)} s, products by rate`,
        ratio,
        target: quick ? null : atMost(ratio, 1.1),
        figures: { tookMs, minimumMs, ratio, startMs, products, maxRps: MAX_RPS, changed, drift },
      },
    ];
  } finally {
    await Promise.all([mirror?.end(), upstream.end()]);
  }
}

/** As if it had been stopped an hour ago. */
function silence(databasePath: string): void {
  const db = new Database(eventLogPath(databasePath));
  try {
    db.prepare('UPDATE history SET alive_at_ms = alive_at_ms - ?').run(DOWN_MS);
  } finally {
    db.close();
  }
}

export const recovery: Part = {
  id: 'i',
  title: 'time from a start after downtime until the mirror equals the store',
  pace: 'background',
  run,
};
