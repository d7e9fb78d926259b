/** What every engine does, whatever is behind it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hash, randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CopiedRow } from '../../src/event-log/copied-row.ts';
import {
  CannotFollow,
  type Engine,
  type Publication,
  type SnapshotFiles,
} from '../../src/replication/transport.ts';
import { CopyingLog, isUpToDate } from './copying-log.ts';

interface EngineUnderTest {
  /** For one store of many that know nothing of each other; several of one store share everything. */
  connect(store: string): Promise<Engine>;
  close(): Promise<void>;
}

const AT_MS = Date.UTC(2026, 0, 2);
const SIGNAL = new AbortController().signal;
const encoder = new TextEncoder();

export function delivery(body: string): Publication {
  const row = { seq: null, kind: 'delivery', atMs: AT_MS, payload: encoder.encode(body), detail: null };
  return { id: hash('sha256', body), row };
}

function rowOf(kind: string, payload: string, detail: CopiedRow['detail'] = null): Publication {
  return {
    id: randomBytes(8).toString('hex'),
    row: { seq: null, kind, atMs: AT_MS, payload: encoder.encode(payload), detail },
  };
}

/** As the one that leads. */
export async function keepFor(engine: Engine, log: CopyingLog): Promise<boolean> {
  const from = { ...log.standing, changeSeq: 0, nowMs: AT_MS, isStranded: false };
  return engine.keepHistory(from, SIGNAL);
}

export function testEngine(
  open: () => Promise<EngineUnderTest>,
  given: { readonly skip: boolean; readonly needs: string },
): void {
  describe.skipIf(given.skip)(`every engine${given.needs}`, () => {
    let under: EngineUnderTest | null = null;
    let stores = 0;
    let store = '';
    const engines: Engine[] = [];
    const logs: CopyingLog[] = [];

    const connect = async (): Promise<Engine> => {
      under ??= await open();
      const engine = await under.connect(store);
      engines.push(engine);
      return engine;
    };
    const makeLog = (): CopyingLog => {
      const log = new CopyingLog();
      logs.push(log);
      return log;
    };
    beforeEach(() => {
      stores += 1;
      store = `store-${stores}`;
    });
    afterEach(async () => {
      await Promise.all(engines.splice(0).map((engine) => engine.close()));
      for (const log of logs.splice(0)) log[Symbol.dispose]();
    });
    afterAll(async () => under?.close());

    test('what is published comes to every replica, in one order and with the same numbers', async () => {
      const engine = await connect();
      const other = await connect();
      const log = makeLog();
      const second = makeLog();
      expect(await keepFor(engine, log)).toBe(true);
      const bodies = Array.from({ length: 600 }, (_, i) => `{"n":${i}}`);
      const published = await Promise.all(bodies.map((body) => engine.publish(delivery(body))));
      const positions = published.map(({ position }) => position);
      expect(positions).toEqual(positions.toSorted((a, b) => a - b));
      await log.copy(engine, isUpToDate);
      await second.copy(other, isUpToDate);
      expect(log.deliveries).toEqual(bodies);
      expect(second.entries).toEqual(log.entries);
      expect(second.standing.epoch).toBe(log.standing.epoch);
      expect(log.positions.slice(1)).toEqual(positions);
    });

    test('what is published twice comes once', async () => {
      const engine = await connect();
      const log = makeLog();
      await keepFor(engine, log);
      const first = await engine.publish(delivery('once'));
      const again = await (await connect()).publish(delivery('once'));
      expect(again.position).toBe(first.position);
      await log.copy(engine, isUpToDate);
      expect(log.deliveries).toEqual(['once']);
    });

    test('large and small rows keep their order, and come back byte for byte', async () => {
      const engine = await connect();
      const log = makeLog();
      await keepFor(engine, log);
      const noise = randomBytes(300_000).toString('base64');
      const large = JSON.stringify({ text: 'x'.repeat(9_000_000) });
      const bodies = ['first', large, 'between', noise, 'last'];
      await Promise.all(bodies.map((body) => engine.publish(delivery(body))));
      await log.copy(engine, isUpToDate);
      expect(log.deliveries.map((body) => body.length)).toEqual(bodies.map((body) => body.length));
      expect(log.deliveries).toEqual(bodies);
    });

    test('a detail that a log has already is left out there', async () => {
      const engine = await connect();
      const log = makeLog();
      await keepFor(engine, log);
      const detail = {
        productId: 'p/1 é',
        hash: encoder.encode('hash'),
        payloadWithout: encoder.encode('{"detail":"hash"}'),
      };
      await engine.publish(rowOf('read', '{"detail":"whole"}', detail));
      await engine.publish(rowOf('read', '{"detail":"whole"}', detail));
      await log.copy(engine, isUpToDate);
      expect(log.entries.slice(1).map(({ payload }) => payload)).toEqual([
        '{"detail":"whole"}',
        '{"detail":"hash"}',
      ]);
    });

    test('a log goes on from where it stands, and hears every second that nothing comes', async () => {
      const engine = await connect();
      const log = makeLog();
      await keepFor(engine, log);
      await engine.publish(delivery('one'));
      await log.copy(engine, isUpToDate);
      await engine.publish(delivery('two'));
      await log.copy(engine, isUpToDate);
      expect(log.deliveries).toEqual(['one', 'two']);
      let empty = 0;
      const startMs = performance.now();
      await log.copy(engine, ({ rows }) => {
        if (rows.length === 0) empty += 1;
        return empty === 3;
      });
      expect(performance.now() - startMs).toBeLessThan(4_000);
    });

    test('what comes while it follows comes at once', async () => {
      const engine = await connect();
      const log = makeLog();
      await keepFor(engine, log);
      let isSent = false;
      await log.copy(engine, (batch) => {
        if (isUpToDate(batch) && !isSent) {
          isSent = true;
          void engine.publish(delivery('now'));
        }
        return log.deliveries.includes('now');
      });
    });

    test('following ends when it is aborted', async () => {
      const engine = await connect();
      const log = makeLog();
      await keepFor(engine, log);
      const stop = new AbortController();
      let batches = 0;
      for await (const batch of engine.follow(log.standing, stop.signal)) {
        batches += batch.rows.length + 1;
        stop.abort();
      }
      expect(batches).toBeGreaterThan(0);
    });

    test('one history begins, however many try', async () => {
      const logs = [makeLog(), makeLog(), makeLog()];
      const began = await Promise.all(logs.map(async (log) => keepFor(await connect(), log)));
      expect(began.filter(Boolean)).toHaveLength(1);
      const engine = await connect();
      for (const log of logs) await log.copy(engine, isUpToDate);
      expect(new Set(logs.map(({ standing }) => standing.epoch)).size).toBe(1);
      const [log] = logs;
      if (log !== undefined) expect(await keepFor(engine, log)).toBe(false);
    });

    test('what was accepted before the first history began comes after its beginning', async () => {
      const engine = await connect();
      const log = makeLog();
      const early = await engine.publish(delivery('early'));
      await keepFor(engine, log);
      await engine.publish(delivery('late'));
      await log.copy(engine, isUpToDate);
      expect(log.entries.map(({ kind }) => kind)).toEqual(['epoch', 'delivery', 'delivery']);
      expect(log.deliveries).toEqual(['early', 'late']);
      // Nobody can tell whether it is there: it is offered again, and left out.
      expect(await engine.isKept(early.receipt)).toBe(false);
    });

    test('a log that was there before goes on, and an empty one needs its snapshot', async () => {
      const engine = await connect();
      const log = makeLog();
      for (const body of ['a', 'b', 'c']) {
        log.log.append([{ kind: 'delivery', body: encoder.encode(body), arrivedAtMs: AT_MS }]);
      }
      const { epoch } = log.standing;
      expect(
        await engine.keepHistory({ ...log.standing, changeSeq: 40, nowMs: AT_MS, isStranded: false }, SIGNAL),
      ).toBe(true);
      await engine.publish(delivery('d'));
      await log.copy(engine, isUpToDate);
      expect(log.entries.map(({ seq, kind }) => [seq, kind])).toEqual([
        [1, 'delivery'],
        [2, 'delivery'],
        [3, 'delivery'],
        [4, 'epoch'],
        [5, 'delivery'],
      ]);
      expect(log.log.history().began).toMatchObject({
        seq: 4,
        epochBefore: epoch,
        reachedFrom: { low: 0, high: 3 },
      });
      expect(JSON.parse(log.entries[3]?.payload ?? '')).toMatchObject({ givenOutSeq: 40 });
      await expect(makeLog().copy(engine, isUpToDate)).rejects.toThrow(CannotFollow);
    });

    test('a log that has no part in the history needs a snapshot, and begins nothing', async () => {
      const engine = await connect();
      const log = makeLog();
      await keepFor(engine, log);
      await log.copy(engine, isUpToDate);
      const stranger = makeLog();
      stranger.log.append([{ kind: 'delivery', body: encoder.encode('x'), arrivedAtMs: AT_MS }]);
      expect(await keepFor(engine, stranger)).toBe(false);
      await expect(stranger.copy(engine, isUpToDate)).rejects.toThrow(CannotFollow);
    });

    test('one at a time has the lease, and only by its last revision', async () => {
      const a = await connect();
      const b = await connect();
      const first = await a.lease.take('a');
      expect(first).not.toBeNull();
      expect(await b.lease.take('b')).toBeNull();
      const second = await a.lease.renew('a', first ?? 0);
      expect(second).not.toBeNull();
      expect(await b.lease.renew('b', first ?? 0)).toBeNull();
      await b.lease.release(first ?? 0);
      expect(await b.lease.take('b')).toBeNull();
      await a.lease.release(second ?? 0);
      expect(await b.lease.take('b')).not.toBeNull();
      expect(await a.lease.renew('a', second ?? 0)).toBeNull();
    });

    test.each(['presence', 'state'] as const)('notes are kept by key: %s', async (which) => {
      const notes = (await connect())[which];
      const others = (await connect())[which];
      expect(await notes.get('replica.x')).toBeNull();
      await notes.put('replica.host-1-8787', { n: 1 });
      await notes.put('replica.häuschen:1 ..', { n: 2 });
      await notes.put('receiver.a', [3]);
      await notes.put('receiver.a', [4]);
      expect(await others.get('receiver.a')).toEqual([4]);
      expect(await others.list('replica.')).toEqual(
        new Map([
          ['replica.host-1-8787', { n: 1 }],
          ['replica.häuschen:1 ..', { n: 2 }],
        ]),
      );
      await others.delete('receiver.a');
      expect(await notes.get('receiver.a')).toBeNull();
      expect(await notes.list('receiver.')).toEqual(new Map());
    });

    test('what was published is known to be kept, and what was published elsewhere is not', async () => {
      const engine = await connect();
      await keepFor(engine, makeLog());
      const { receipt } = await engine.publish(delivery('kept'));
      expect(await engine.isKept(JSON.parse(JSON.stringify(receipt)))).toBe(true);
      store = `${store}-other`;
      const other = await connect();
      await keepFor(other, makeLog());
      await other.publish(delivery('another'));
      expect(await other.isKept(receipt)).toBe(false);
    });

    test('the newest snapshot is fetched whole, and leads on', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'snapshot-'));
      try {
        const engine = await connect();
        const log = makeLog();
        const into = filesIn(folder, 'into');
        expect(await engine.getSnapshot(into, SIGNAL)).toBe(false);
        await keepFor(engine, log);
        expect(await engine.getSnapshot(into, SIGNAL)).toBe(false);
        for (const body of ['1', '2', '3']) {
          await engine.publish(delivery(body));
          await log.copy(engine, isUpToDate);
          const files = filesIn(folder, body);
          writeFileSync(files.mirror, randomBytes(2_000_000));
          writeFileSync(files.log, `log ${body}`);
          await engine.putSnapshot(files, log.standing, SIGNAL);
        }
        expect(await (await connect()).getSnapshot(into, SIGNAL)).toBe(true);
        expect(readFileSync(into.mirror).equals(readFileSync(filesIn(folder, '3').mirror))).toBe(true);
        expect(readFileSync(into.log, 'utf8')).toBe('log 3');
        await engine.publish(delivery('4'));
        await log.copy(engine, isUpToDate);
        expect(log.deliveries).toEqual(['1', '2', '3', '4']);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  });
}

function filesIn(folder: string, name: string): SnapshotFiles {
  return { mirror: join(folder, `${name}.mirror.db`), log: join(folder, `${name}.log.db`) };
}
