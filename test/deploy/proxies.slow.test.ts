/** The proxies with the shipped configurations in front of a real mirror, over TLS with a private authority. */
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { request as plainRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  makeCertificates,
  OPS_HOST,
  PROXIES,
  SHIPPED,
  startProxy,
  versionOf,
  WEBHOOK_HOST,
  type ProxyName,
} from './proxy.ts';
import { signBody } from '../../src/store-api/signature.ts';
import { inboxRows, startMirror, startService, temporaryFolder, type Owner } from '../process/harness.ts';
import { holdSocket } from '../process/life/socket-unit.ts';
import { freePort } from '../shared/free-port.ts';
import { TlsLoad } from './tls-load.ts';

/** Longer than the store waits for an answer. */
const STANDSTILL_MS = 2_500;
const TOKEN = 'a-token-for-the-private-listener';

interface Asked {
  readonly host: string;
  readonly path: string;
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The name of which the certificate is asked; by default the host. */
  readonly servername?: string;
  readonly address?: string;
}

interface Ports {
  readonly webhookPort: number;
  readonly opsPort: number;
}

const asShipped = (configuration: string): string => configuration;

async function startInFront(t: Owner, name: ProxyName, ports: Ports, edit = asShipped) {
  const certificates = makeCertificates(join(temporaryFolder(t), 'certificates'));
  const [port, plainPort] = [await freePort(), await freePort()];
  const proxy = await startProxy({
    name,
    configuration: edit(readFileSync(SHIPPED[name], 'utf8')),
    folder: join(temporaryFolder(t), 'proxy'),
    port,
    plainPort,
    certificates,
    ...ports,
  });
  t.onTestFinished(() => proxy.end());
  return { port, plainPort, ca: certificates.ca };
}

async function behind(t: Owner, name: ProxyName, edit = asShipped) {
  const sandbox = await startService(t);
  const mirror = await startMirror(t, sandbox, { env: { OPS_TOKEN: TOKEN } });
  const { port, plainPort, ca } = await startInFront(
    t,
    name,
    {
      webhookPort: Number(new URL(mirror.webhookUrl).port),
      opsPort: Number(new URL(mirror.opsUrl).port),
    },
    edit,
  );
  const ask = ({
    host,
    path,
    method = 'GET',
    body = '',
    headers = {},
    servername = host,
    address = '127.0.0.1',
  }: Asked) =>
    statusOf((onAnswer) =>
      request(
        {
          host: address,
          port,
          servername,
          ca,
          path,
          method,
          agent: false,
          headers: { ...headers, host, 'content-length': Buffer.byteLength(body) },
        },
        onAnswer,
      ).end(body),
    );
  const askPlainly = (host: string, path: string) =>
    statusOf((onAnswer) =>
      plainRequest(
        { host: '127.0.0.1', port: plainPort, path, method: 'POST', agent: false, headers: { host } },
        onAnswer,
      ).end(),
    );
  const webhook = (host: string, servername = host): Asked => {
    const body = JSON.stringify({
      request_id: `proxy-${performance.now()}`,
      event_type: 'stock_available_updated',
      request_time: Date.now(),
      data: { items: [] },
    });
    const signature = signBody(sandbox.webhookSecret, Buffer.from(body));
    return {
      host,
      servername,
      path: '/webhooks',
      method: 'POST',
      body,
      headers: { 'x-service-signature': signature, 'content-type': 'application/json' },
    };
  };
  return { ask, askPlainly, webhook };
}

/** @returns a status, or the code of an error. */
function statusOf(
  start: (onAnswer: (answer: IncomingMessage) => void) => ReturnType<typeof request>,
): Promise<number | string> {
  return new Promise((resolve) => {
    start((answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    }).once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

for (const name of PROXIES) {
  const version = versionOf(name);
  describe.skipIf(version === null)(`${name} ${version ?? '(skipped: it is not installed)'}`, () => {
    test('passes webhooks and the private listener under their names, and nothing else', async (t) => {
      const { ask, webhook } = await behind(t, name);
      expect(await ask(webhook(WEBHOOK_HOST))).toBe(204);
      expect(await ask({ host: WEBHOOK_HOST, path: '/healthz' })).toBe(200);
      // A name with an AAAA record is asked there first.
      expect(await ask({ host: WEBHOOK_HOST, path: '/healthz', address: '::1' })).toBe(200);
      for (const path of ['/', '/metrics', '/api/status', '/webhooks/more', '/login']) {
        expect(await ask({ host: WEBHOOK_HOST, path }), path).toBe(404);
      }
      const authorization = `Bearer ${TOKEN}`;
      expect(await ask({ host: OPS_HOST, path: '/metrics' })).toBe(401);
      for (const path of ['/metrics', '/api/status', '/']) {
        expect(await ask({ host: OPS_HOST, path, headers: { authorization } }), path).toBe(200);
      }
    });

    test('answers a webhook for another name with 421, never as if it were delivered', async (t) => {
      const { ask, webhook } = await behind(t, name);
      expect(await ask(webhook('other.example', WEBHOOK_HOST))).toBe(421);
      // Without a certificate for the name, the handshake may fail instead.
      const refused = await ask(webhook('other.example'));
      expect(refused === 421 || typeof refused === 'string').toBe(true);
    });

    test('loses no answered webhook and changes no body while the receiver is killed, stopped and stands still', async (t) => {
      const sandbox = await startService(t);
      // A disk that stalls for seconds would hold up every answer.
      const unit = await holdSocket(t, sandbox, temporaryFolder(t), { ROLE: 'receiver' });
      await unit.start();
      const { port, ca } = await startInFront(t, name, { webhookPort: unit.port, opsPort: 1 });
      const load = new TlsLoad({
        port,
        host: WEBHOOK_HOST,
        ca,
        secret: sandbox.webhookSecret,
        perSecond: 50,
      });
      t.onTestFinished(() => load.end().then(() => undefined));
      const answered = (more: number) => load.untilAnswered(load.answered + more);
      await answered(50);
      await unit.kill();
      await unit.start();
      await answered(50);
      await unit.stop();
      await unit.start();
      await answered(50);
      unit.signal('SIGSTOP');
      await sleep(STANDSTILL_MS);
      unit.signal('SIGCONT');
      await answered(50);

      const sent = await load.end();
      const stored = new Set(
        inboxRows<{ body: Buffer }>(unit.databasePath, 'SELECT body FROM inbox').map(({ body }) =>
          body.toString(),
        ),
      );
      const with204 = sent.filter(({ outcome }) => outcome === '204');
      expect(with204.filter(({ body }) => !stored.has(body))).toEqual([]);
      // A changed body.
      expect(sent.filter(({ outcome }) => outcome === '401')).toEqual([]);
    });
  });
}

test.skipIf(versionOf('caddy') === null)('Caddy without TLS answers any other name with 421', async (t) => {
  const plain = (configuration: string): string =>
    configuration.replaceAll(/^\{\$(\w+_HOST\w*)\}/gm, 'http://{$$$1}');
  const { askPlainly } = await behind(t, 'caddy', plain);
  expect(await askPlainly(WEBHOOK_HOST, '/webhooks')).toBe(401);
  expect(await askPlainly('other.example', '/webhooks')).toBe(421);
});

test.skipIf(versionOf('caddy') === null)('Caddy redirects its own names to TLS, and no other', async (t) => {
  const { askPlainly } = await behind(t, 'caddy');
  expect(await askPlainly(WEBHOOK_HOST, '/webhooks')).toBe(308);
  expect(await askPlainly('other.example', '/webhooks')).toBe(421);
});
