import { expect, test } from 'vitest';
import { StateSampler } from '../../src/ops/state/state-sampler.ts';
import { Timeline, type TimelineDeps } from '../../src/ops/state/timeline.ts';
import { beginCatalogueRun } from '../../src/reconcile/runs.ts';
import { delivery, detail, item, readInput } from '../mirror/mirror-file.ts';
import { eventually } from '../process/wait.ts';
import { log, newDatabases, type DirectDatabases } from '../reconcile/mirror.ts';

const MINUTE_MS = 60_000;
const T0 = 1_790_000_040_000;

function timelineOf(databases: DirectDatabases, startMs: number, over: Partial<TimelineDeps> = {}) {
  let nowMs = startMs;
  const now = () => nowMs;
  const { mirror } = databases;
  const sampler = new StateSampler({ reader: mirror, now, log });
  const timeline = new Timeline({ reader: mirror, writer: mirror, sampler, now, log, ...over });
  return { timeline, sampler, pass: (ms: number) => void (nowMs += ms) };
}

test('counts answers and the slowest one per minute', () => {
  const { timeline, pass } = timelineOf(newDatabases(), T0);
  timeline.answered({ deliveries: 1, refused: 0, slowestMs: 3.2 });
  timeline.answered({ deliveries: 1, refused: 1, slowestMs: 44 });
  timeline.answered({ deliveries: 0, refused: 0, slowestMs: null });
  pass(MINUTE_MS);
  timeline.answered({ deliveries: 0, refused: 1, slowestMs: 800 });
  expect(timeline.minutes().slice(-3)).toEqual([
    null,
    { deliveries: 2, refused: 1, slowestMs: 44 },
    { refused: 1, slowestMs: 800 },
  ]);
});

test('counts deliveries that were proven lost, not the values that reads corrected', async () => {
  const databases = newDatabases();
  const { timeline } = timelineOf(databases, T0);
  timeline.start();
  const read = (qty: number, sentAtMs: number) =>
    databases.mirror.append(readInput('10', detail('10', [{ id: '100', levels: { 1: qty } }]), { sentAtMs }));
  await read(5, T0);
  const later = item({ old: 2, new: 1, update_time: T0 + 20_000 });
  await databases.deliver(delivery('a', later), T0 + 20_000);
  await read(8, T0 + 50_000);
  await read(9, T0 + 90_000);
  expect(databases.rows('SELECT 1 FROM mirror_changes WHERE source = ?', 'read')).toHaveLength(3);
  expect(timeline.minutes().at(-1)).toEqual({ starts: 1, lost: 1 });
  await timeline.stop();
});

test('marks the starts of the mirror, and the reads of everything', async () => {
  const databases = newDatabases();
  const { timeline } = timelineOf(databases, T0);
  timeline.start();
  const deps = { mirror: databases.mirror, now: () => T0, log };
  await beginCatalogueRun(deps, 'operator');
  await beginCatalogueRun(deps, 'search');
  expect(timeline.minutes().at(-1)).toEqual({ starts: 1, fullReads: 1 });
  await timeline.stop();
});

test('keeps the minutes over a restart', async () => {
  const databases = newDatabases();
  const { timeline, sampler, pass } = timelineOf(databases, T0);
  timeline.start();
  await sampler.status();
  timeline.answered({ deliveries: 1, refused: 0, slowestMs: 3 });
  timeline.asked();
  pass(MINUTE_MS);
  await timeline.stop();

  const { timeline: again } = timelineOf(databases, T0 + 4 * MINUTE_MS);
  again.start();
  const known = () => again.minutes().filter((minute) => minute !== null);
  await eventually(() => known().length > 1, { what: 'the noted minutes' });
  expect(known()).toMatchObject([
    { starts: 1, deliveries: 1, requests: 1, slowestMs: 3, suspects: 0 },
    { starts: 1 },
  ]);
  await again.stop();
});
