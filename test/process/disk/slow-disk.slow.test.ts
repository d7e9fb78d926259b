import { expect, test } from 'vitest';
import { eventually, inboxRows, startBoth, temporaryFolder, untilAtRest } from '../harness.ts';
import { startLoad, withStatus } from '../load.ts';
import { canBeOdd, needsForOdd, oddDisk } from './odd-disk.ts';

test.skipIf(!canBeOdd)(
  `stores a delivery committed after its 503 and requests no read${needsForOdd}`,
  async (t) => {
    const folder = temporaryFolder(t);
    const disk = oddDisk(folder, 'slow');
    const { sandbox, mirror } = await startBoth(t, { products: 20 }, { folder, env: disk.env });
    const reads = (): number => sandbox.requests['/v1/product/detail'] ?? 0;

    const quietSinceMs = performance.now();
    await eventually(() => performance.now() - quietSinceMs > 9_000, { what: 'the first reads are past' });
    disk.begin();
    const readBefore = reads();
    const load = startLoad(t, sandbox, 5);
    await eventually(() => withStatus(load, 503).length > 40, { what: 'deliveries are refused' });
    load.stop();
    await sandbox.network.idle();
    disk.end();
    await untilAtRest(mirror, sandbox);
    const stored = inboxRows(mirror.databasePath, `SELECT 1 FROM inbox WHERE kind = 'delivery'`);
    expect(stored).toHaveLength(load.settled.length);
    expect(reads() - readBefore).toBe(0);
  },
);

test.skipIf(!canBeOdd)(
  `answers every delivery with 204 while each sync takes 250 ms, heartbeats included${needsForOdd}`,
  async (t) => {
    const folder = temporaryFolder(t);
    const disk = oddDisk(folder, 'slow', 250);
    const { sandbox } = await startBoth(t, { products: 20 }, { folder, env: disk.env });
    disk.begin();
    const load = startLoad(t, sandbox, 15);
    await eventually(() => load.settled.length >= 180, { what: 'traffic for 12 heartbeats' });
    load.stop();
    await sandbox.network.idle();
    expect(withStatus(load, 204)).toHaveLength(load.settled.length);
  },
);
