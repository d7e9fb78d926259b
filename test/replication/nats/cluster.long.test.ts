/** Three servers, of which some die. */
import { expect, test } from 'vitest';
import { CopyingLog, isUpToDate } from '../copying-log.ts';
import { delivery, keepFor } from '../engine-contract.ts';
import { present } from '../../shared/present.ts';
import { connectTo } from './engines.ts';
import { leaderOf } from './leader-of.ts';
import { publishSurely, tryAgain } from './publishing.ts';
import { hasServer, needsServer, startServers } from './server.ts';

const MINUTES = 180_000;

test.skipIf(!hasServer)(
  `whichever server is killed or stands still, nothing that was acknowledged is lost, and the logs stay equal${needsServer}`,
  { timeout: MINUTES },
  async () => {
    await using cluster = await startServers(3);
    const [engine, other] = [await connectTo(cluster.urls), await connectTo(cluster.urls)];
    using log = new CopyingLog();
    using second = new CopyingLog();
    await tryAgain(() => keepFor(engine, log));
    const acknowledged: string[] = [];
    let isDone = false;
    let next = 0;
    const publishing = (async () => {
      while (!isDone) {
        const bodies = Array.from({ length: 20 }, () => `delivery ${(next += 1)}`);
        await Promise.all(bodies.map((body) => publishSurely(engine, delivery(body))));
        acknowledged.push(...bodies);
      }
    })();
    const advance = async (): Promise<void> => {
      const from = acknowledged.length;
      await expect
        .poll(() => acknowledged.length, { timeout: 60_000, interval: 50 })
        .toBeGreaterThan(from + 100);
    };
    await advance();
    const leader = present(await leaderOf(cluster, 'mirror_store'));
    await leader.kill();
    await advance();
    await leader.start();
    for (const server of cluster.servers) {
      await log.copy(engine, isUpToDate, 60_000);
      server.freeze();
      await advance();
      server.thaw();
    }
    for (const server of cluster.servers) {
      await log.copy(engine, isUpToDate, 60_000);
      await server.stop();
      await advance();
      await server.start();
    }
    await log.copy(engine, isUpToDate, 60_000);
    await cluster.kill();
    await cluster.start();
    await advance();
    isDone = true;
    await publishing;
    await log.copy(
      engine,
      (batch) => isUpToDate(batch) && log.deliveries.length >= acknowledged.length,
      60_000,
    );
    await second.copy(other, (batch) => isUpToDate(batch) && second.log.lastSeq === log.log.lastSeq, 60_000);
    expect(log.deliveries.toSorted()).toEqual(acknowledged.toSorted());
    expect(second.entries).toEqual(log.entries);
    expect(await tryAgain(() => keepFor(engine, log))).toBe(false);
    const inspected = async (): Promise<string[]> =>
      (await tryAgain(() => engine.inspect())).map(({ problem }) => problem);
    await expect
      .poll(inspected, { timeout: 30_000 })
      .toEqual([
        'what goes to the engine is not encrypted',
        'the engine asks for no credentials',
        expect.stringContaining('whether the servers sync each message'),
      ]);
    await Promise.all([engine.close(), other.close()]);
  },
);
