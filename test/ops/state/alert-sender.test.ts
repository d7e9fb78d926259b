import { createServer, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { fetchThroughProxy } from '../../../src/platform/proxy.ts';
import { Secret } from '../../../src/platform/secret.ts';
import { AlertSender, alertAfterMs } from '../../../src/ops/state/alert-sender.ts';
import { CAUSE_CODES, causeOf } from '../../../src/ops/state/causes.ts';
import type { Verdict } from '../../../src/ops/state/state.ts';

const T0 = Date.UTC(2026, 0, 1);
const FULL_MS = 60_000;

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  return body;
}

/** @param statuses of the answers, in turn; the last one stays. */
async function receiving(statuses: readonly number[]) {
  const taken: { method: string | undefined; path: string | undefined; body: string; status: number }[] = [];
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const status = statuses[Math.min(taken.length, statuses.length - 1)] ?? 200;
      taken.push({ method: request.method, path: request.url, body, status });
      response.writeHead(status).end('answer');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { taken, url: new Secret(`http://127.0.0.1:${port}/hook?token=hidden`) };
}

function sending(targets: { url?: Secret; pingUrl?: Secret }) {
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line) => void lines.push(line) });
  let nowMs = T0;
  const sender = new AlertSender({
    url: null,
    pingUrl: null,
    ...targets,
    now: () => nowMs,
    log,
    firstRetryMs: 1,
    send: async (url, init) => {
      const response = await fetchThroughProxy(url, init);
      await response.body?.cancel();
      return response;
    },
  });
  onTestFinished(() => sender.stop());
  const observe = (atMs: number, ...causes: Verdict['causes']): void => {
    nowMs = atMs;
    sender.observe({ state: 'live', causes });
  };
  return { observe, lines };
}

const full = { ...causeOf('disk_full', T0), since: T0 };

test('announces an urgent cause once it has lasted for its time, and its end, in this order', async () => {
  const { taken, url } = await receiving([200]);
  const { observe } = sending({ url });
  observe(T0 + FULL_MS - 1, full);
  observe(T0 + FULL_MS, full);
  observe(T0 + FULL_MS + 1_000, full);
  observe(T0 + FULL_MS + 2_000);
  await expect.poll(() => taken).toHaveLength(2);
  expect(taken.map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([
    { status: 'begun', cause: 'disk_full', severity: 'critical', since: '2026-01-01T00:00:00.000Z' },
    { status: 'ended', cause: 'disk_full', at: '2026-01-01T00:01:02.000Z' },
  ]);
  expect((JSON.parse(taken[0]?.body ?? '') as { text: string }).text).toContain('disk_full');
});

test('announces no warning that can wait for working hours', async () => {
  const { taken, url } = await receiving([200]);
  const { observe } = sending({ url });
  expect(alertAfterMs('clock_wrong')).toBeNull();
  observe(T0 + 86_400_000, { ...causeOf('clock_wrong', T0), since: T0 }, full);
  await expect.poll(() => taken).toHaveLength(1);
  expect(taken[0]?.body).toContain('disk_full');
});

test('sends an alert again until it is taken, and logs no part of the address', async () => {
  const { taken, url } = await receiving([503, 429, 204]);
  const { observe, lines } = sending({ url });
  observe(T0 + FULL_MS, full);
  await expect.poll(() => taken.at(-1)?.status).toBe(204);
  expect(new Set(taken.map(({ body }) => body)).size).toBe(1);
  expect(lines.join('')).toContain('HTTP 503');
  expect(lines.join('')).not.toContain('hidden');
});

test('gives up an alert that is refused for good, and sends the next', async () => {
  const { taken, url } = await receiving([404, 200]);
  const { observe, lines } = sending({ url });
  observe(T0 + FULL_MS, full);
  observe(T0 + FULL_MS + 1_000);
  await expect.poll(() => taken.map(({ status }) => status)).toEqual([404, 200]);
  expect(lines.join('')).toContain('HTTP 404');
});

test('pings each minute, whatever the state is, also after the clock was set back', async () => {
  const { taken, url: pingUrl } = await receiving([200]);
  const { observe } = sending({ pingUrl });
  const monotonic = vi.spyOn(performance, 'now').mockReturnValue(0);
  onTestFinished(() => monotonic.mockRestore());
  observe(T0);
  monotonic.mockReturnValue(59_999);
  observe(T0 + 59_999, full);
  monotonic.mockReturnValue(60_000);
  observe(T0 - 86_400_000, full);
  await expect.poll(() => taken).toHaveLength(2);
  expect(taken.every(({ method, body }) => method === 'GET' && body === '')).toBe(true);
});

test('knows the time of every cause', () => {
  expect(() => CAUSE_CODES.map(alertAfterMs)).not.toThrow();
});
