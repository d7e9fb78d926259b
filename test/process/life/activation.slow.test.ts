/**
 * Restarts while another process holds the socket, like a systemd socket unit
 * (docs/architecture.md#start-and-stop).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import {
  environmentFor,
  eventually,
  notKept,
  startService,
  temporaryFolder,
  untilAtRest,
  proveWayIn,
  untilLive,
  untilNone,
  type Json,
  type Owner,
} from '../harness.ts';
import { startLoad } from '../load.ts';

const HOLDER = join(import.meta.dirname, 'fixtures/hold-socket.ts');
const MAIN = join(import.meta.dirname, '../../../src/main.ts');
const RESTARTS = 2;

interface Activated {
  readonly databasePath: string;
  readonly log: readonly Json[];
  readonly port: number;
  readonly stderr: string;
  restart(): Promise<void>;
}

const all = (log: readonly Json[], message: string): readonly Json[] =>
  log.filter(({ msg }) => msg === message);

function missedAtStarts(log: readonly Json[]): readonly Json[] {
  let isListening = false;
  return log.filter(({ msg }) => {
    if (msg === 'listening' || msg === 'stopped') isListening = msg === 'listening';
    return !isListening && String(msg).startsWith('deliveries may have been missed');
  });
}

async function activate(t: Owner, sandbox: Sandbox): Promise<Activated> {
  const folder = temporaryFolder(t);
  const databasePath = join(folder, 'mirror.db');
  const holder = spawn(process.execPath, [HOLDER, MAIN, 'webhooks'], {
    cwd: folder,
    // PORT 1 proves that the passed socket is used.
    env: { PATH: process.env['PATH'] ?? '', ...environmentFor(sandbox, databasePath), PORT: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log: Json[] = [];
  createInterface({ input: holder.stdout }).on('line', (line) => log.push(JSON.parse(line) as Json));
  let stderr = '';
  holder.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const pidNow = (): number => Number(log.findLast(({ pid }) => pid !== undefined)?.['pid']);
  t.onTestFinished(async () => {
    const ended = once(holder, 'close');
    holder.kill('SIGKILL');
    try {
      process.kill(pidNow(), 'SIGKILL');
    } catch {
      // It has ended already.
    }
    await ended;
  });
  const untilListening = (times: number): Promise<unknown> =>
    eventually(() => all(log, 'listening').length >= times, { what: `start ${times} listens` }).catch(
      (error: unknown) => {
        throw new Error(stderr, { cause: error });
      },
    );
  await untilListening(1);
  const port = Number(log.find((line) => 'port' in line)?.['port']);
  sandbox.webhookUrl = `http://127.0.0.1:${port}/webhooks`;
  return {
    databasePath,
    log,
    port,
    get stderr() {
      return stderr;
    },
    async restart() {
      const listened = all(log, 'listening').length;
      const stopped = all(log, 'stopped').length;
      process.kill(pidNow(), 'SIGTERM');
      await eventually(() => all(log, 'stopped').length > stopped, { what: 'it has stopped' });
      // Waits in the socket for the next process.
      const health = fetch(`http://127.0.0.1:${port}/healthz`);
      await untilListening(listened + 1);
      // A busy machine may answer 503, which is an answer too.
      expect([200, 503]).toContain((await health).status);
    },
  };
}

test('stores each delivery over restarts while another process holds the socket', async (t) => {
  const sandbox = await startService(t, { products: 20, ackTimeoutMs: 60_000 });
  const service = await activate(t, sandbox);
  const { databasePath } = service;
  await proveWayIn(`http://127.0.0.1:${service.port}/webhooks`, sandbox.webhookSecret);
  await untilLive(service);
  expect(all(service.log, 'listening')[0]).toMatchObject({
    webhooks: `http://127.0.0.1:${service.port}/webhooks`,
  });

  const load = startLoad(t, sandbox, 60);
  for (let n = 0; n < RESTARTS; n += 1) {
    const settled = load.settled.length;
    await eventually(() => load.settled.length > settled + 60, { what: 'load' });
    await service.restart();
  }
  const settled = load.settled.length;
  await eventually(() => load.settled.length > settled + 60, { what: 'load' });
  load.stop();
  await sandbox.network.idle();

  expect(service.stderr).toBe('');
  expect(all(service.log, 'stopped')).toHaveLength(RESTARTS);
  expect(missedAtStarts(service.log)).toEqual([]);
  const sent = sandbox.deliveries.records;
  expect(sent.length).toBeGreaterThan(180);
  await untilNone(
    () =>
      notKept(
        databasePath,
        sent.filter(({ status }) => status === 204),
      ),
    { what: 'every delivery is stored' },
  );
  await untilAtRest(service, sandbox);
});
