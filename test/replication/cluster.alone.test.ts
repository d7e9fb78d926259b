/** A slice of `npm run cluster`: nine processes, of which each kind is killed once under load. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runCluster } from '../../scripts/cluster/run.ts';
import { hasServer, needsServer } from './nats/server.ts';

test.skipIf(!hasServer)(
  `what is answered is on every replica, and all are equal, whoever is killed${needsServer}`,
  { timeout: 180_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-cluster-'));
    const report = await runCluster({
      ...{ seconds: 15, perSecond: 200, products: 60, seed: 1, folder },
      log: () => undefined,
    });
    expect(report.problems).toEqual([]);
    expect(report.answered).toBe(report.sent);
    expect(report.takeoverMs.length).toBeGreaterThan(0);
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  },
);
