/** The engine over a real server, on its own: alone, without a cluster, TLS or users. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { judgeStream } from '../../src/cli/doctor/stream.ts';
import { connectNats, loadNats } from '../../src/stream/nats.ts';
import { memoryFolder, type Owner } from '../process/harness.ts';
import { lacking } from './nats-cluster.ts';

async function startServer(test: Owner): Promise<string> {
  const args = ['--addr', '127.0.0.1', '--port', '-1', '--jetstream', '--store_dir', memoryFolder(test)];
  const server = spawn('nats-server', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  test.onTestFinished(() => void server.kill('SIGKILL'));
  for await (const line of createInterface(server.stderr)) {
    const [, at] = /Listening for client connections on (\S+)/.exec(line) ?? [];
    if (at !== undefined) return `nats://${at}`;
  }
  throw new Error('the server has ended');
}

const skipped = lacking();
const text = (body: Uint8Array): string => Buffer.from(body).toString();

test.skipIf(skipped !== '')(
  `keeps, delivers and repeats messages as the hosts expect${skipped}`,
  async (t) => {
    const servers = [await startServer(t)];
    const options = { servers, name: 'shop', user: null, password: null, caFile: null };
    const engine = await connectNats(await loadNats(), options);
    t.onTestFinished(() => engine.close());
    await engine.prepare();
    await engine.prepare();
    const { id, ...empty } = await engine.log('host');
    expect(empty).toEqual({ firstSeq: 1, lastSeq: 0, consumer: null });

    for (const body of ['a', 'a', 'b']) {
      await engine.publish('deliveries', Buffer.from(body), { id: body, arrivedAtMs: 0 });
    }
    await engine.publish('notices', Buffer.from('c'));
    await engine.moveConsumer('host', 2);
    const taken: [string, string, number][] = [];
    const end = await engine.consume('host', ({ subject, body, left, ack }) => {
      taken.push([subject, text(body), left]);
      if (taken.length > 1) ack();
    });
    // The first of them was not acknowledged.
    await expect.poll(() => taken).toHaveLength(3);
    expect(taken).toEqual([
      ['deliveries', 'b', 1],
      ['notices', 'c', 0],
      ['deliveries', 'b', 0],
    ]);
    const allTaken = { id, firstSeq: 1, lastSeq: 3, consumer: { ackedSeq: 3 } };
    await expect.poll(() => engine.log('host')).toEqual(allTaken);
    await engine.moveConsumer('host', 4);
    await end();

    const heard: string[] = [];
    engine.hear((hostId, body) => void heard.push(`${hostId} ${text(body)}`));
    const sentAtMs = Date.now();
    for (const body of ['x', 'y']) await engine.publish('heartbeat.one', Buffer.from(body));
    await engine.publish('start.two', Buffer.from('z'));
    const last = await engine.last('heartbeat.*');
    expect(last.map(({ subject, body }) => [subject, text(body)])).toEqual([['heartbeat.one', 'y']]);
    expect(last[0]?.atMs).toBeGreaterThanOrEqual(sentAtMs);
    expect(await engine.last('credentials.none')).toEqual([]);
    await expect.poll(() => heard).toEqual(['one x', 'one y']);

    expect(judgeStream('shop', await engine.facts()).map(({ message }) => message)).toEqual([
      expect.stringContaining('messages of at most 1048576 bytes'),
      expect.stringContaining('the stream shop has 1 of 3 replicas'),
      expect.stringContaining('the stream shop-last has 1 of 3 replicas'),
    ]);
  },
);
