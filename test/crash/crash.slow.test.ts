/** The course of `npm run crash`, short; and that it sees a loss when there is one. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test, type TestContext } from 'vitest';
import { eventLogPath } from '../../src/event-log/open-log.ts';
import type { CrashReport } from '../../scripts/crash/report.ts';
import { crash, type CrashOptions } from '../../scripts/crash/run.ts';

/** Six starts of a process, and the rest that the mirror finds at the end. */
const LIMIT_MS = 120_000;

function course(t: TestContext, options: Partial<CrashOptions> = {}): Promise<CrashReport> {
  const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-crash-test-'));
  t.onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return crash({
    kills: 5,
    seed: 11,
    folder,
    rate: 200,
    products: 30,
    onProgress: () => undefined,
    ...options,
  });
}

test.concurrent(
  'five kills under load lose nothing',
  async (t) => {
    const report = await course(t);
    expect(report.problems).toEqual([]);
    expect(report.answered).toBeGreaterThan(50);
    expect(report.found).toBe(report.answered);
    expect(report.items.shown).toBeGreaterThan(50);
    expect(report.changesSeen).toBeGreaterThan(50);
    expect(report.integrityChecks).toBeGreaterThanOrEqual(2);
    expect(report.ending?.figures).toBeGreaterThan(50);
  },
  LIMIT_MS,
);

test.concurrent(
  'a delivery that was answered and is gone after a kill ends the course with its name',
  async (t) => {
    const report = await course(t, {
      // The second kill is the first that falls under load. What is lost is what came last, as without an fsync.
      onKilled: (path, kills) => {
        if (kills < 2) return;
        const db = new Database(eventLogPath(path));
        db.exec(`DELETE FROM log WHERE kind = 'delivery' AND seq > (SELECT max(seq) FROM log) - 200`);
        db.close();
      },
    });
    expect(report.problems.join('\n')).toMatch(/delivery whk_\S+ was answered 204 and is not in the log/);
    expect(report.found).toBeLessThan(report.answered);
    expect(report.ending).toBeNull();
  },
  LIMIT_MS,
);
