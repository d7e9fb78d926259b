/** The ports of a host by its role, with real sockets, files and threads. */
import { createHmac } from 'node:crypto';
import { existsSync } from 'node:fs';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startMirrorHost } from '../../src/app/mirror-host.ts';
import type { Platform, RunningService } from '../../src/app/platform.ts';
import { startReceiverHost } from '../../src/app/receiver-host.ts';
import { loadConfig, type Config } from '../../src/config/config.ts';
import { inboxPath } from '../../src/inbox/inbox-file.ts';
import { openReader } from '../../src/sqlite/open.ts';
import { listen, type Listener } from '../../src/platform/listen.ts';
import { delivery, item, newPath, values } from '../mirror/mirror-file.ts';
import { log } from '../reconcile/mirror.ts';
import { present } from '../shared/present.ts';
import { MemoryServers } from '../stream/memory-engine.ts';
import { REQUIRED_SETTINGS } from '../shared/required-settings.ts';

const SECRET = 'webhook-secret';
const BODY = delivery('r1', item());

const environmentOf = (path: string, role: string) => ({
  ...REQUIRED_SETTINGS,
  SERVICE_WEBHOOK_SECRET: SECRET,
  DATABASE_PATH: path,
  PORT: '0',
  OPS_PORT: '0',
  ROLE: role,
});

async function start(
  servers: MemoryServers,
  role: string,
): Promise<{ service: RunningService; received: () => string[] }> {
  const path = newPath();
  const env = { ...environmentOf(path, role), STREAM_URL: 'nats://127.0.0.1:9' };
  const config = loadConfig({ env, cwd: '/nowhere' });
  const service = await startHost(config, {
    connectStream: () => Promise.resolve(servers.connect()),
  });
  onTestFinished(() => service.stop());
  const received = (): string[] => {
    const db = openReader(inboxPath(path));
    try {
      return values<string>(
        db,
        `SELECT json_extract(CAST(body AS TEXT), '$.request_id') FROM inbox WHERE kind = 'delivery'`,
      );
    } finally {
      db.close();
    }
  };
  return { service, received };
}

function startHost(config: Config, given: Partial<Platform> = {}): Promise<RunningService> {
  const start = config.role === 'receiver' ? startReceiverHost : startMirrorHost;
  return start(config, log, (error) => expect.unreachable(error.message), given);
}

async function startOn(path: string, role: string): Promise<RunningService> {
  const config = loadConfig({ env: environmentOf(path, role), cwd: '/nowhere' });
  const service = await startHost(config);
  let stopped: Promise<void> | null = null;
  const stop = (): Promise<void> => (stopped ??= service.stop());
  onTestFinished(stop);
  return { ...service, stop };
}

const ask = (at: Pick<Listener, 'host' | 'port'>, path: string, options?: RequestInit): Promise<Response> =>
  fetch(`http://${at.host}:${at.port}${path}`, options);

test('a receiver answers and publishes webhooks, shows its state, and refers readers to a mirror', async () => {
  const info = vi.spyOn(log, 'info');
  onTestFinished(() => info.mockRestore());
  const servers = new MemoryServers();
  const { service } = await start(servers, 'receiver');
  const { ops } = service;
  const webhook = present(service.webhook);
  const signature = createHmac('sha256', SECRET).update(BODY).digest('hex');
  const headers = { 'content-type': 'application/json', 'x-service-signature': signature };
  const answer = await ask(webhook, '/webhooks', { method: 'POST', body: BODY, headers });
  expect(answer.status).toBe(204);
  const published = () => servers.log.filter(({ subject }) => subject === 'deliveries');
  await expect.poll(() => published().map(({ body }) => Buffer.from(body))).toEqual([Buffer.from(BODY)]);
  // It may not be known in the stream yet.
  await expect.poll(async () => (await ask(webhook, '/healthz')).status).toBe(200);
  expect((await ask(ops, '/readyz')).status).toBe(200);
  expect(await (await ask(ops, '/api/status')).json()).toEqual({ state: 'live', causes: [] });
  expect(await (await ask(ops, '/metrics')).text()).toMatch(/^stock_mirror_stream_backlog_rows 0$/m);
  const elsewhere = await ask(ops, '/api/stock');
  expect(elsewhere.status).toBe(404);
  expect(await elsewhere.text()).toContain('read from a mirror');
  const page = await (await ask(ops, '/', { headers: { accept: 'text/html' } })).text();
  expect(page).toContain('This process only receives webhooks');
  await expect.poll(() => info.mock.calls.map(([, text]) => text)).toContain('the receiver is live');
});

test('a mirror takes deliveries from the stream, and has no public port', async () => {
  const servers = new MemoryServers();
  const { service, received } = await start(servers, 'mirror');
  expect(service.webhook).toBeNull();
  await expect.poll(() => servers.readers.size).toBe(1);
  await servers.connect().publish('deliveries', BODY, { id: 'r1' });
  await expect.poll(received).toEqual(['r1']);
});

test('receiver and mirror share a database without a stream', async () => {
  const path = newPath();
  const receiver = await startOn(path, 'receiver');
  const mirror = await startOn(path, 'mirror');
  expect(mirror.webhook).toBeNull();
  const signature = createHmac('sha256', SECRET).update(BODY).digest('hex');
  const headers = { 'content-type': 'application/json', 'x-service-signature': signature };
  const post = () => ask(present(receiver.webhook), '/webhooks', { method: 'POST', body: BODY, headers });
  expect((await post()).status).toBe(204);
  const mirrored = (): string[] => {
    if (!existsSync(path)) return [];
    const db = openReader(path);
    try {
      return values<string>(db, 'SELECT variant_id FROM mirror_changes');
    } finally {
      db.close();
    }
  };
  await expect.poll(mirrored).toEqual(['100']);
  await mirror.stop();
  expect((await post()).status).toBe(204);
  expect((await ask(present(receiver.webhook), '/healthz')).status).toBe(200);
});

test.each(['receiver', 'both'])(
  'a failed start with ROLE=%s gives requests on their way some time',
  async (role) => {
    const config = loadConfig({ env: environmentOf(newPath(), role), cwd: '/nowhere' });
    const graces: number[] = [];
    const watched: typeof listen = async (app, at) => {
      if (at.prefix === 'OPS_') throw new Error('another program uses the port');
      const listener = await listen(app, at);
      const stop = (graceMs: number): Promise<void> => {
        graces.push(graceMs);
        return listener.stop(graceMs);
      };
      return { ...listener, stop };
    };
    const starting = startHost(config, { listen: watched });
    await expect(starting).rejects.toThrow('another program uses the port');
    // As at an orderly stop: a passed socket is kept, so nothing is written down as missed.
    expect(graces).toHaveLength(1);
    expect(graces[0]).toBeGreaterThan(0);
  },
);
