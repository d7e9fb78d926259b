import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { crash, type CrashOptions, type CrashReport } from '../../scripts/crash/run.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';

/** `.ci/run` draws it from the commit, so that each commit kills at other instants. */
const SEED = Number(process.env['SEED'] ?? 11);

function run(options: Pick<CrashOptions, 'kills' | 'folder' | 'onKilled'>): Promise<CrashReport> {
  return crash({ seed: SEED, rate: 200, products: 30, ...options });
}

test.concurrent('loses nothing over five kills under load', async (t) => {
  const report = await run({ kills: 5, folder: temporaryFolder(t), onKilled: () => undefined });
  expect(report.problems, `npm run crash -- --kills 5 --seed ${SEED} --rate 200 --products 30`).toEqual([]);
  expect(report.answered).toBeGreaterThanOrEqual(50);
  expect(report.found).toBe(report.answered);
  // Those of the first read alone are more.
  expect(report.changesSeen).toBeGreaterThan(50);
});

test.concurrent('detects answered deliveries lost by a kill', async (t) => {
  const folder = temporaryFolder(t);
  const older = temporaryFolder(t);
  let keptAt: CrashReport | null = null;
  const report = await run({
    kills: 12,
    folder,
    onKilled: (progress) => {
      if (keptAt === null && progress.answered > 0) {
        keptAt = { ...progress };
        cpSync(folder, older, { recursive: true });
      } else if (keptAt !== null && progress.answered > keptAt.answered) {
        for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
        mkdirSync(folder, { recursive: true });
        cpSync(older, folder, { recursive: true });
      }
    },
  });
  expect(report.problems.join('\n')).toMatch(/delivery whk_\S+ was answered 204 and is gone after a kill/);
  expect(report.found).toBeLessThan(report.answered);
});
