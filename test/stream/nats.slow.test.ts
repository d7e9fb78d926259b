/** The engine over a real server, on its own: alone, without a cluster, TLS or users. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { judgeStream } from '../../src/cli/doctor/stream.ts';
import { TooLargeError, type LogSubject } from '../../src/stream/engine.ts';
import { connectNats, KEPT_MS, loadNats } from '../../src/stream/nats.ts';
import { temporaryFolder, type Owner } from '../process/harness.ts';
import { lacking } from './nats-cluster.ts';

async function startServer(test: Owner, folder = temporaryFolder(test), port = '-1') {
  const args = ['--addr', '127.0.0.1', '--port', port, '--jetstream', '--store_dir', folder];
  const server = spawn('nats-server', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const kill = (): void => void server.kill('SIGKILL');
  test.onTestFinished(kill);
  for await (const line of createInterface(server.stderr)) {
    const [, at] = /Listening for client connections on (\S+)/.exec(line) ?? [];
    if (at !== undefined) return { url: `nats://${at}`, kill };
  }
  throw new Error('the server has ended');
}

const skipped = lacking();
const text = (body: Uint8Array): string => Buffer.from(body).toString();

test.skipIf(skipped !== '')(
  `keeps, delivers and repeats messages as the hosts expect${skipped}`,
  async (t) => {
    const servers = [(await startServer(t)).url];
    const options = { servers, name: 'shop', user: null, password: null, caFile: null };
    const engine = await connectNats(await loadNats(), options);
    t.onTestFinished(() => engine.close());
    await Promise.all([engine.prepare(), engine.prepare()]);
    await engine.prepare();
    const { id, ...empty } = await engine.log();
    expect(id).toMatch(/^[0-9a-f]{16}$/);
    expect(empty).toEqual({ firstSeq: 1, lastSeq: 0 });

    const publish = (subject: LogSubject, body: string) =>
      engine.publish(subject, Buffer.from(body), { id: body, hostId: 'one', arrivedAtMs: 0 });
    expect([await publish('deliveries', 'a'), await publish('deliveries', 'a')]).toEqual([1, 1]);
    expect(await publish('deliveries', 'b')).toBe(2);
    expect(await publish('missed', 'c')).toBe(3);
    const ended = new AbortController();
    const taken: [number, LogSubject, string, string | null][] = [];
    const reading = (async () => {
      for await (const { seq, subject, body, hostId } of engine.read(2, ended.signal)) {
        taken.push([seq, subject, text(body), hostId]);
      }
    })();
    await expect.poll(() => taken).toHaveLength(2);
    await publish('deliveries', 'd');
    await expect.poll(() => taken).toHaveLength(3);
    expect(taken).toEqual([
      [2, 'deliveries', 'b', 'one'],
      [3, 'missed', 'c', 'one'],
      [4, 'deliveries', 'd', 'one'],
    ]);
    // Longer than a pull lasts: the reading goes on.
    await sleep(4_000);
    await publish('deliveries', 'e');
    await expect.poll(() => taken).toHaveLength(4);
    ended.abort();
    await reading;
    expect(await engine.log()).toEqual({ id, firstSeq: 1, lastSeq: 5 });
    await expect(engine.publish('deliveries', Buffer.alloc(1 << 20))).rejects.toThrow(TooLargeError);

    const heard: string[] = [];
    engine.hear((kind, hostId, body) => void heard.push(`${kind} ${hostId} ${text(body)}`));
    for (const body of ['x', 'y']) await engine.publish('heartbeat.one', Buffer.from(body));
    await engine.publish('start.two', Buffer.from('z'));
    const last = await engine.last('heartbeat.*');
    expect(last.map(({ subject, body }) => [subject, text(body)])).toEqual([['heartbeat.one', 'y']]);
    expect(await engine.last('heartbeat.none')).toEqual([]);
    await expect.poll(() => heard).toEqual(['heartbeat one x', 'heartbeat one y', 'start two z']);

    // A mirror that was away as long as the log allows finds the hosts that it must wait for.
    expect((await engine.facts()).last?.config.max_age).toBe(KEPT_MS * 1e6);

    expect(judgeStream('shop', await engine.facts()).map(({ message }) => message)).toEqual([
      expect.stringContaining('messages of at most 1048576 bytes'),
      expect.stringContaining('the stream shop has 1 of 3 replicas'),
      expect.stringContaining('the stream shop-last has 1 of 3 replicas'),
    ]);
  },
);

test.skipIf(skipped !== '')(
  `ends a reading when its server is gone, and reads on when it is back${skipped}`,
  async (t) => {
    const folder = temporaryFolder(t);
    const first = await startServer(t, folder);
    const { port } = new URL(first.url);
    const options = { servers: [first.url], name: 'shop', user: null, password: null, caFile: null };
    const engine = await connectNats(await loadNats(), options);
    t.onTestFinished(() => engine.close());
    await engine.prepare();
    const publish = (body: string) => engine.publish('deliveries', Buffer.from(body), { id: body });
    await publish('a');
    const { signal } = new AbortController();
    const taken: string[] = [];
    const read = async (fromSeq: number): Promise<void> => {
      for await (const { body } of engine.read(fromSeq, signal)) taken.push(text(body));
    };
    const reading = read(1);
    await expect.poll(() => taken).toEqual(['a']);
    first.kill();
    await reading;
    await startServer(t, folder, port);
    await expect.poll(() => publish('b').catch(() => null)).toBe(2);
    void read(2).catch(() => undefined);
    await expect.poll(() => taken).toEqual(['a', 'b']);
  },
);

test.skipIf(skipped !== '')(
  `delivers a backlog of bodies of different sizes in one reading${skipped}`,
  async (t) => {
    const servers = [(await startServer(t)).url];
    const options = { servers, name: 'shop', user: null, password: null, caFile: null };
    const engine = await connectNats(await loadNats(), options);
    t.onTestFinished(() => engine.close());
    await engine.prepare();
    const sizes = Array.from({ length: 1_000 }, (_, at) =>
      at % 100 === 99 ? 500_000 : 300 + ((at * 37) % 500),
    );
    for (const [at, size] of sizes.entries()) {
      await engine.publish('deliveries', Buffer.alloc(size), { id: String(at) });
    }
    const ended = new AbortController();
    const taken: number[] = [];
    for await (const { body } of engine.read(1, ended.signal)) {
      taken.push(body.byteLength);
      if (taken.length === sizes.length) ended.abort();
    }
    expect(taken).toEqual(sizes);
  },
);
