/** An engine that has lost what it had accepted, or never had anything. */
import { setTimeout as wait } from 'node:timers/promises';
import { connect } from '@nats-io/transport-node';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { describe, expect, test } from 'vitest';
import { CannotFollow, TransportError, type Standing } from '../../../src/replication/transport.ts';
import { CopyingLog, isUpToDate } from '../copying-log.ts';
import { delivery, keepFor } from '../engine-contract.ts';
import { connectTo } from './engines.ts';
import { publishSurely, tryAgain } from './publishing.ts';
import { hasServer, needsServer, startServers } from './server.ts';

async function administer<T>(
  urls: readonly string[],
  work: (jsm: JetStreamManager) => Promise<T>,
): Promise<T> {
  const nc = await connect({ servers: [...urls] });
  try {
    return await work(await jetstreamManager(nc));
  } finally {
    await nc.close();
  }
}

/** The first error of following from there. */
async function failureOf(
  engine: Awaited<ReturnType<typeof connectTo>>,
  standing: Standing,
): Promise<unknown> {
  try {
    for await (const _ of engine.follow(standing, AbortSignal.timeout(10_000)));
  } catch (error) {
    return error;
  }
  return null;
}

describe
  .skipIf(!hasServer)
  .concurrent(`an engine that lost something${needsServer}`, { timeout: 90_000 }, () => {
    test('whose stream was deleted goes on from the log of who leads', async () => {
      await using cluster = await startServers(1);
      const engine = await connectTo(cluster.urls);
      using log = new CopyingLog();
      using level = new CopyingLog();
      using behind = new CopyingLog();
      await keepFor(engine, log);
      await engine.publish(delivery('one'));
      await behind.copy(engine, isUpToDate);
      const two = await engine.publish(delivery('two'));
      await log.copy(engine, isUpToDate);
      await level.copy(engine, isUpToDate);
      const following = failureOf(engine, log.standing);
      await administer(cluster.urls, (jsm) => jsm.streams.delete('mirror_store'));
      expect(await following).toBeInstanceOf(TransportError);
      // A receiver is faster than the lead.
      await publishSurely(engine, delivery('three'));
      expect(await engine.isKept(two.receipt)).toBe(false);
      expect(await failureOf(engine, log.standing)).toMatchObject({ need: 'history' });
      const { lastSeq, epoch } = log.standing;
      expect(await keepFor(engine, log)).toBe(true);
      await publishSurely(engine, delivery('two'));
      await publishSurely(engine, delivery('four'));
      await log.copy(engine, isUpToDate);
      await level.copy(engine, isUpToDate);
      expect(log.deliveries).toEqual(['one', 'two', 'three', 'four']);
      expect(level.entries).toEqual(log.entries);
      expect(log.log.history().began).toMatchObject({ seq: lastSeq + 1, epochBefore: epoch });
      expect(await failureOf(engine, behind.standing)).toBeInstanceOf(CannotFollow);
      expect(await keepFor(engine, behind)).toBe(false);
      expect(await keepFor(engine, log)).toBe(false);
      await engine.close();
    });

    test.each([
      { what: 'is behind', after: [] },
      { what: 'was refilled to the same length', after: ['four'] },
      { what: 'was refilled beyond', after: ['four', 'five', 'six'] },
    ])('whose stream was set back and $what goes on from the log of who leads', async ({ after }) => {
      await using cluster = await startServers(1);
      const [server] = cluster.servers;
      const engine = await connectTo(cluster.urls);
      using log = new CopyingLog();
      using behind = new CopyingLog();
      await keepFor(engine, log);
      for (const body of ['one', 'two']) await engine.publish(delivery(body));
      await behind.copy(engine, isUpToDate);
      await server?.stop();
      const setBack = server?.remember();
      await server?.start();
      const three = await publishSurely(engine, delivery('three'));
      await log.copy(engine, isUpToDate);
      expect(log.deliveries).toEqual(['one', 'two', 'three']);
      await server?.stop();
      setBack?.();
      await server?.start();
      for (const body of after) await publishSurely(engine, delivery(body));
      expect(await tryAgain(() => engine.isKept(three.receipt))).toBe(false);
      // Whoever has more waits for the lead at first.
      expect(await failureOf(engine, log.standing)).toMatchObject({ need: 'history' });
      expect(await keepFor(engine, log)).toBe(true);
      await publishSurely(engine, delivery('three'));
      await log.copy(engine, isUpToDate);
      expect(log.deliveries).toEqual(['one', 'two', 'three', ...after]);
      expect(await failureOf(engine, behind.standing)).toBeInstanceOf(CannotFollow);
      await engine.close();
    });

    test('is given up by a log that has more, when nobody begins a new history from there', async () => {
      await using cluster = await startServers(1);
      const [server] = cluster.servers;
      const engine = await connectTo(cluster.urls);
      using ahead = new CopyingLog();
      using lead = new CopyingLog();
      await keepFor(engine, lead);
      await lead.copy(engine, isUpToDate);
      await server?.stop();
      const setBack = server?.remember();
      await server?.start();
      await publishSurely(engine, delivery('lost'));
      await ahead.copy(engine, isUpToDate);
      await server?.stop();
      setBack?.();
      await server?.start();
      expect(await tryAgain(() => keepFor(engine, lead))).toBe(false);
      await expect(ahead.copy(engine, isUpToDate, 40_000)).rejects.toThrow(CannotFollow);
      await engine.close();
    });

    test('that tells who publishes when it gives numbers out again', async () => {
      await using cluster = await startServers(1);
      const engine = await connectTo(cluster.urls);
      using log = new CopyingLog();
      await keepFor(engine, log);
      for (const body of ['one', 'two', 'three']) await engine.publish(delivery(body));
      await administer(cluster.urls, async (jsm) => {
        const { config } = await jsm.streams.info('mirror_store');
        await jsm.streams.delete('mirror_store');
        await jsm.streams.add({ ...config, name: 'mirror_store' });
      });
      await expect(engine.publish(delivery('four'))).rejects.toThrow(/has lost entries/);
      await engine.close();
    });

    test.each([
      { which: 'in between', after: ['three'] },
      { which: 'at the end', after: [] },
    ])(
      'by hand: a message deleted $which ends what follows, and a new history begins there',
      async ({ after }) => {
        await using cluster = await startServers(1);
        const engine = await connectTo(cluster.urls);
        using log = new CopyingLog();
        using ahead = new CopyingLog();
        await keepFor(engine, log);
        await engine.publish(delivery('one'));
        await log.copy(engine, isUpToDate);
        const { position } = await engine.publish(delivery('two'));
        for (const body of after) await engine.publish(delivery(body));
        await ahead.copy(engine, isUpToDate);
        await administer(cluster.urls, (jsm) => jsm.streams.deleteMessage('mirror_store', position));
        expect(await failureOf(engine, log.standing)).toMatchObject({ need: 'history' });
        expect(await keepFor(engine, log)).toBe(true);
        await log.copy(engine, isUpToDate);
        expect(log.deliveries).toEqual(['one', ...after]);
        expect(await failureOf(engine, ahead.standing)).toBeInstanceOf(CannotFollow);
        await engine.close();
      },
    );

    test('emptied by hand: what the engine knows again, and does not have, is published all the same', async () => {
      await using cluster = await startServers(1);
      const engine = await connectTo(cluster.urls);
      using log = new CopyingLog();
      await keepFor(engine, log);
      const { receipt } = await engine.publish(delivery('one'));
      await administer(cluster.urls, (jsm) => jsm.streams.purge('mirror_store'));
      expect(await engine.isKept(receipt)).toBe(false);
      await engine.publish(delivery('one'));
      expect(await keepFor(engine, log)).toBe(true);
      await log.copy(engine, isUpToDate);
      expect(log.deliveries).toEqual(['one']);
      await engine.close();
    });

    test('removed by snapshots: what is needed stays, who is further behind takes one', async () => {
      await using cluster = await startServers(1);
      let nowMs = Date.UTC(2026, 0, 2);
      const engine = await connectTo(cluster.urls, {}, { now: () => nowMs });
      using log = new CopyingLog();
      using behind = new CopyingLog();
      using nearly = new CopyingLog();
      await keepFor(engine, log);
      await behind.copy(engine, isUpToDate);
      const files = { mirror: log.path, log: log.path };
      const first = await engine.publish(delivery('0'));
      for (const n of [1, 2, 3, 4]) {
        await engine.publish(delivery(String(n)));
        await log.copy(engine, isUpToDate);
        await engine.putSnapshot(files, log.standing, new AbortController().signal);
        if (n < 4) await nearly.copy(engine, isUpToDate);
        nowMs += 3_600_000;
      }
      const kept = await administer(cluster.urls, (jsm) => jsm.streams.info('mirror_store'));
      // The base, and from the snapshot before on.
      expect(kept.state.messages).toBe(3);
      expect(await engine.isKept(first.receipt)).toBe(true);
      expect(await failureOf(engine, behind.standing)).toBeInstanceOf(CannotFollow);
      await nearly.copy(engine, isUpToDate);
      expect(nearly.entries).toEqual(log.entries);
      expect(await keepFor(engine, log)).toBe(false);
      expect(await keepFor(engine, behind)).toBe(false);
      const over = new AbortController();
      const putting = engine.putSnapshot(files, log.standing, over.signal);
      over.abort();
      await expect(putting).rejects.toThrow(TransportError);
      const objects = await administer(cluster.urls, (jsm) => jsm.streams.info('OBJ_mirror_store_snapshots'));
      // Of the newest and the one before it: two files, each with what is said of it.
      expect(objects.state.num_subjects).toBe(8);
      await engine.close();
    });

    test('whose history is applied by earlier rules is left as it is until it begins anew; by later ones, it is not followed', async () => {
      await using cluster = await startServers(1);
      const old = await connectTo(cluster.urls, {}, { rules: 3 });
      const updated = await connectTo(cluster.urls, {}, { rules: 4 });
      using left = new CopyingLog();
      using level = new CopyingLog();
      await keepFor(old, left);
      await old.publish(delivery('one'));
      await level.copy(old, isUpToDate);
      await left.copy(old, isUpToDate);
      await old.publish(delivery('two'));
      expect(await failureOf(updated, level.standing)).toMatchObject({ need: 'other_updates' });
      expect(await keepFor(old, level)).toBe(false);
      expect(await keepFor(updated, level)).toBe(true);
      await level.copy(updated, isUpToDate);
      expect(level.deliveries).toEqual(['one', 'two']);
      const refused = await failureOf(old, left.standing);
      expect(refused).toBeInstanceOf(TransportError);
      expect(refused).toMatchObject({
        message: expect.stringContaining('update stock-mirror here') as string,
      });
      // Whoever is not updated begins nothing.
      expect(await keepFor(old, left)).toBe(false);
      // By the same rules, from exactly where the new history began.
      await left.copy(updated, isUpToDate);
      expect(left.entries).toEqual(level.entries);
      await old.close();
      await updated.close();
    });

    test("a lease that is not renewed is anybody's, after its time and not before", async () => {
      await using cluster = await startServers(1);
      const engine = await connectTo(cluster.urls);
      const startMs = performance.now();
      const revision = await engine.lease.take('a');
      while ((await engine.lease.take('b')) === null) await wait(200);
      const tookMs = performance.now() - startMs;
      expect(tookMs).toBeGreaterThan(9_500);
      expect(tookMs).toBeLessThan(15_000);
      expect(await engine.lease.renew('a', revision ?? 0)).toBeNull();
      await engine.close();
    });
  });
