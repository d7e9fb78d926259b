import { expect, test } from 'vitest';
import { eventually, inboxRows, startBoth, temporaryFolder, untilAtRest } from '../harness.ts';
import { startLoad, withStatus } from '../load.ts';
import { canBeOdd, needsForOdd, oddDisk } from './odd-disk.ts';

test.skipIf(!canBeOdd)(
  `stores what is committed too late for its answer, so that nothing was missed${needsForOdd}`,
  async (t) => {
    const folder = temporaryFolder(t);
    const disk = oddDisk(folder, 'slow');
    const { sandbox, mirror } = await startBoth(
      t,
      { products: 20, ackTimeoutMs: 30_000 },
      { folder, env: disk.env },
    );
    disk.begin();
    const load = startLoad(t, sandbox, 5);
    await eventually(() => load.settled.length > 40, { what: 'deliveries' });
    load.stop();
    await sandbox.network.idle();
    disk.end();
    await untilAtRest(mirror, sandbox);
    const stored = inboxRows(
      mirror.databasePath,
      `SELECT 1 FROM inbox WHERE kind = 'delivery' AND CAST(body AS TEXT) NOT LIKE '%"proof-%'`,
    );
    expect(stored).toHaveLength(load.settled.length);
    expect(inboxRows(mirror.databasePath, `SELECT body FROM inbox WHERE body LIKE '%not_stored%'`)).toEqual(
      [],
    );
  },
);

test.skipIf(!canBeOdd)(
  `answers every delivery with 204 while each sync takes 250 ms, heartbeats included${needsForOdd}`,
  async (t) => {
    const folder = temporaryFolder(t);
    const disk = oddDisk(folder, 'slow', 250);
    const { sandbox } = await startBoth(t, { products: 20, ackTimeoutMs: 30_000 }, { folder, env: disk.env });
    disk.begin();
    const load = startLoad(t, sandbox, 15);
    await eventually(() => load.settled.length >= 180, { what: 'traffic for 12 heartbeats' });
    load.stop();
    await sandbox.network.idle();
    expect(withStatus(load, 204)).toHaveLength(load.settled.length);
  },
);
