/** What keeps an engine from being used, and what an operator is told of it. */
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { connect, headers } from '@nats-io/transport-node';
import { jetstream } from '@nats-io/jetstream';
import { describe, expect, test } from 'vitest';
import { TransportError, type Engine } from '../../../src/replication/transport.ts';
import { CopyingLog, isUpToDate } from '../copying-log.ts';
import { delivery, keepFor } from '../engine-contract.ts';
import { connectTo } from './engines.ts';
import { publishSurely, tryAgain } from './publishing.ts';
import { hasServer, needsServer, prepareServers, startServers } from './server.ts';

const SIGNAL = new AbortController().signal;
const OK = { problem: expect.stringContaining('sync') as string };

async function messageOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    expect(error).toBeInstanceOf(TransportError);
    return error instanceof Error ? error.message : '';
  }
  return 'it worked';
}

/** Whatever can be asked of it. */
function askAll(engine: Engine, log: CopyingLog): Promise<unknown>[] {
  const files = { mirror: `${log.path}.none`, log: `${log.path}.none` };
  return [
    engine.publish(delivery('x')),
    engine.isKept({ created: '1', seq: 1, id: 'x' }),
    keepFor(engine, log),
    engine.putSnapshot({ mirror: log.path, log: log.path }, log.standing, SIGNAL),
    engine.getSnapshot(files, SIGNAL),
    engine.lease.take('a'),
    engine.lease.renew('a', 1),
    engine.lease.release(1),
    engine.presence.get('a'),
    engine.presence.put('a', 1),
    engine.presence.list('a'),
    engine.state.delete('a'),
    engine.inspect(),
    engine.follow(log.standing, SIGNAL)[Symbol.asyncIterator]().next(),
  ];
}

describe.skipIf(!hasServer).concurrent(`an engine with troubles${needsServer}`, { timeout: 60_000 }, () => {
  test('that is not there yet is connected to once it is; until then all that is asked fails soon', async () => {
    await using cluster = await prepareServers(1);
    const engine = await connectTo(cluster.urls);
    using log = new CopyingLog();
    const startMs = performance.now();
    await Promise.all(
      askAll(engine, log).map(async (asked) =>
        expect(await messageOf(asked)).toMatch(/cannot be reached: .*ECONNREFUSED/i),
      ),
    );
    expect(performance.now() - startMs).toBeLessThan(6_000);
    await cluster.start();
    expect(await tryAgain(() => keepFor(engine, log))).toBe(true);
    await engine.close();
  });

  test.each([
    { what: 'is killed', cut: 'kill' },
    { what: 'stands still', cut: 'freeze' },
  ] as const)(
    'that $what is noticed within seconds by who follows, and all that is asked fails soon',
    async ({ cut }) => {
      await using cluster = await startServers(1);
      const [server] = cluster.servers;
      const engine = await connectTo(cluster.urls);
      using log = new CopyingLog();
      await keepFor(engine, log);
      await log.copy(engine, isUpToDate);
      const { receipt } = await engine.publish(delivery('kept'));
      let startMs = 0;
      const following = (async () => {
        for await (const batch of engine.follow(log.standing, SIGNAL)) {
          if (!isUpToDate(batch) || startMs > 0) continue;
          startMs = performance.now();
          await server?.[cut]();
        }
      })();
      expect(await messageOf(following)).not.toBe('it worked');
      expect(performance.now() - startMs).toBeLessThan(9_000);
      const askedMs = performance.now();
      await Promise.all(
        askAll(engine, log).map(async (asked) => expect(await messageOf(asked)).not.toBe('it worked')),
      );
      expect(performance.now() - askedMs).toBeLessThan(12_000);
      if (cut === 'kill') await server?.start();
      else server?.thaw();
      await publishSurely(engine, delivery('again'));
      await log.copy(engine, (batch) => isUpToDate(batch) && log.deliveries.includes('again'));
      expect(await engine.isKept(receipt)).toBe(true);
      await engine.close();
    },
  );

  test('whose messages must be small says what to set', async () => {
    await using cluster = await startServers(1, { maxPayload: '64KB' });
    const engine = await connectTo(cluster.urls);
    using log = new CopyingLog();
    await keepFor(engine, log);
    const noise = randomBytes(100_000).toString('latin1');
    expect(await messageOf(engine.publish(delivery(noise)))).toMatch(
      /entry of \d{6} bytes is larger than the 65536 bytes .* max_payload: 8MB/,
    );
    await engine.publish(delivery('small'));
    await log.copy(engine, isUpToDate);
    expect(log.deliveries).toEqual(['small']);
    expect(await tryAgain(() => engine.inspect())).toContainEqual({
      problem: 'the engine takes messages of at most 65536 bytes; what a large product holds may be more',
      remedy: expect.stringContaining('max_payload: 8MB') as string,
      isWarning: false,
    });
    await engine.close();
  });

  test('with fewer servers than replicas says so', async () => {
    await using cluster = await startServers(1);
    const engine = await connectTo(cluster.urls, { replicas: 3 });
    using log = new CopyingLog();
    const told = /fewer servers than LOG_REPLICAS asks for .* set LOG_REPLICAS=1/;
    expect(await messageOf(keepFor(engine, log))).toMatch(told);
    expect(await messageOf(engine.publish(delivery('x')))).toMatch(told);
    expect(await messageOf(engine.inspect())).toMatch(told);
    const modest = await connectTo(cluster.urls);
    expect(await keepFor(modest, log)).toBe(true);
    expect(await tryAgain(() => engine.inspect())).toContainEqual({
      problem: 'mirror_store is kept by 1 of the 3 servers that LOG_REPLICAS asks for',
      remedy: 'Run: nats stream edit mirror_store --replicas 3',
      isWarning: false,
    });
    expect(await tryAgain(() => modest.inspect())).toContainEqual(
      expect.objectContaining({
        problem: expect.stringContaining('kept by one server') as string,
        isWarning: true,
      }),
    );
    await engine.close();
    await modest.close();
  });

  test('that refuses the credentials says which to check, and takes them once they are right', async () => {
    const config = 'authorization { user: mirror, password: right }';
    await using cluster = await startServers(1, { config });
    using log = new CopyingLog();
    const wrong = await connectTo(cluster.urls, { user: 'mirror', password: 'wrong' });
    expect(await messageOf(keepFor(wrong, log))).toMatch(/refuses the credentials .* LOG_USER/);
    const right = await connectTo(cluster.urls, { user: 'mirror', password: 'right' });
    expect(await keepFor(right, log)).toBe(true);
    const found = await tryAgain(() => right.inspect());
    expect(found.map(({ problem }) => problem)).not.toContain('the engine asks for no credentials');
    await wrong.close();
    await right.close();
  });

  test('of several servers that all refuse the credentials says so too, and is closed at once', async () => {
    await using cluster = await startServers(3, {
      config: 'authorization { user: mirror, password: right }',
    });
    const engine = await connectTo(cluster.urls, { user: 'mirror', password: 'wrong' });
    const said = await tryAgain(async () => {
      const message = await messageOf(engine.lease.release(1));
      if (!message.includes('refuses the credentials')) throw new TransportError(message);
      return message;
    });
    expect(said).toMatch(/refuses the credentials .* LOG_USER/);
    const startMs = performance.now();
    await engine.close();
    expect(performance.now() - startMs).toBeLessThan(1_000);
  });

  test('that is not there keeps a command alive until that is said', async () => {
    const engines = pathToFileURL(join(import.meta.dirname, 'engines.ts')).href;
    const program = `
      const { connectTo } = await import(${JSON.stringify(engines)});
      const engine = await connectTo(['nats://127.0.0.1:1']);
      await engine.inspect().catch((error) => console.log(error.message));
      await engine.close();`;
    // Not in this thread, which other tests need at the same time.
    const ended = promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
      timeout: 20_000,
    });
    expect((await ended).stdout).toContain('cannot be reached');
  });

  test('over TLS is trusted by the authority that is named, and by no other', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tls-'));
    try {
      const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
      execFileSync(
        'openssl',
        `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout ${key} -out ${certificate}`.split(
          ' ',
        ),
        { stdio: 'ignore' },
      );
      const config = `tls { cert_file: "${certificate}", key_file: "${key}" }`;
      await using cluster = await startServers(1, { config });
      using log = new CopyingLog();
      const urls = cluster.urls.map((url) => url.replace('nats:', 'tls:'));
      const trusting = await connectTo(urls, { caFile: certificate });
      expect(await keepFor(trusting, log)).toBe(true);
      const found = await tryAgain(() => trusting.inspect());
      expect(found.map(({ problem }) => problem)).not.toContain('what goes to the engine is not encrypted');
      const doubting = await connectTo(urls);
      expect(await messageOf(doubting.lease.release(1))).toMatch(/cannot be reached: .*certificate/);
      await trusting.close();
      await doubting.close();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('with a message of another form is not followed past it', async () => {
    await using cluster = await startServers(1);
    const engine = await connectTo(cluster.urls);
    using log = new CopyingLog();
    await keepFor(engine, log);
    await engine.publish(delivery('before'));
    const nc = await connect({ servers: [...cluster.urls] });
    const later = headers();
    later.set('Mirror-Form', '2');
    later.set('Mirror-Kind', 'delivery');
    await jetstream(nc).publish('mirror.store.delivery', '{}', { headers: later });
    await nc.close();
    await engine.publish(delivery('after'));
    await log.copy(engine, () => log.deliveries.includes('before'));
    const following = (async () => {
      for await (const _ of engine.follow(log.standing, SIGNAL));
    })();
    expect(await messageOf(following)).toMatch(/message 3 of the stream mirror_store .* update stock-mirror/);
    expect(log.deliveries).toEqual(['before']);
    await engine.close();
  });

  test('that is all right has nothing to tell but what cannot be seen', async ({ expect }) => {
    const config = 'authorization { token: secret }';
    await using cluster = await startServers(3, { config });
    const engine = await connectTo(cluster.urls, { token: 'secret' });
    await tryAgain(() => engine.state.put('a', 1));
    // Each server catches up first.
    await expect
      .poll(async () => (await engine.inspect()).filter(({ problem }) => !problem.includes('encrypted')), {
        timeout: 30_000,
      })
      .toEqual([expect.objectContaining(OK)]);
    await cluster.servers[0]?.stop();
    await expect
      .poll(async () => tryAgain(async () => JSON.stringify(await engine.inspect())), { timeout: 30_000 })
      .toContain('is not up to date on all of its servers: n1');
    await engine.close();
  });
});

test('a package that is missing is named, with the command that installs all', () => {
  const folder = mkdtempSync(join(tmpdir(), 'missing-'));
  try {
    const hooks = join(folder, 'hooks.mjs');
    writeFileSync(
      hooks,
      `import { registerHooks } from 'node:module';
registerHooks({ resolve(name, context, next) {
  if (name === '@nats-io/kv') throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
  return next(name, context);
} });`,
    );
    const engine = pathToFileURL(join(import.meta.dirname, '../../../src/replication/nats/engine.ts')).href;
    const script = `import { connectEngine } from '${engine}';
await connectEngine({ urls: ['nats://127.0.0.1:1'], store: 's', replicas: 1, user: null, password: null, token: null, caFile: null }, {});`;
    const { stderr, status } = spawnSync(
      process.execPath,
      ['--import', hooks, '--input-type=module', '--eval', script],
      { encoding: 'utf8' },
    );
    expect(status).toBe(1);
    expect(stderr).toContain('the package @nats-io/kv');
    expect(stderr).toContain(
      'npm install @nats-io/transport-node @nats-io/jetstream @nats-io/kv @nats-io/obj',
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
