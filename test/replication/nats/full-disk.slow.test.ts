/** Servers of the engine whose disks are full. */
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { canMount, smallDisk } from '../../process/disk/small-disk.ts';
import { TransportError } from '../../../src/replication/transport.ts';
import { CopyingLog, isUpToDate } from '../copying-log.ts';
import { delivery, keepFor } from '../engine-contract.ts';
import { connectTo } from './engines.ts';
import { publishSurely, tryAgain } from './publishing.ts';
import { hasServer, needsServer, startServers } from './server.ts';

const MB = 1 << 20;
const isAble = hasServer && canMount();
const needs = hasServer && !isAble ? ' (skipped: file systems cannot be mounted here)' : needsServer;

/** Deliveries that fill what room the servers have made for themselves. */
const large = (name: string): string => `${name} ${randomBytes(20_000).toString('hex')}`;

test.skipIf(!isAble)(
  `one full disk is as one server less; a majority of them stops the engine until they are restarted${needs}`,
  { timeout: 120_000 },
  async (t) => {
    const disks = [1, 2, 3].map(() => smallDisk(t, 40 * MB));
    await using cluster = await startServers(3, { stores: disks.map(({ folder }) => folder) });
    const engine = await connectTo(cluster.urls);
    using log = new CopyingLog();
    await tryAgain(() => keepFor(engine, log));
    const before = large('before');
    await publishSurely(engine, delivery(before));
    disks[0]?.fill();
    const withOneLess = ['one', 'two', 'three', 'four'].map(large);
    for (const body of withOneLess) await publishSurely(engine, delivery(body));
    disks[1]?.fill();
    await expect(publishSurely(engine, delivery(large('refused')), 8_000)).rejects.toThrow(TransportError);
    for (const [i, server] of cluster.servers.slice(0, 2).entries()) {
      disks[i]?.free();
      await server.stop();
      await server.start();
      await server.untilCurrent();
    }
    const after = large('after');
    await publishSurely(engine, delivery(after));
    await log.copy(engine, (batch) => isUpToDate(batch) && log.deliveries.includes(after));
    expect(log.deliveries).toEqual(expect.arrayContaining([before, ...withOneLess, after]));
    await engine.close();
  },
);
