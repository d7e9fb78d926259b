import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { checkProcess } from '../../../src/cli/doctor/mirror.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { HELD_MS } from '../../../src/core/limits.ts';
import type { Cause, CauseCode } from '../../../src/ops/state/causes.ts';
import type { Blocked } from '../../../src/store-api/blocked.ts';
import { SqliteFault } from '../../../src/sqlite/errors.ts';
import { REQUIRED_SETTINGS } from '../../shared/required-settings.ts';
import { heartbeat, refused } from '../reported.ts';
import { valueOf } from '../metrics/exposition.ts';
import { printed, startMirror, type Mirror } from './mirror.ts';

const DAY_MS = 24 * 60 * 60_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

const failing = (code: string): Blocked => ({
  kind: 'breaker',
  message: 'no answer',
  sinceMs: 0,
  failure: { kind: 'unavailable', status: null, code },
});

test.each<[string, CauseCode, (mirror: Mirror) => void]>([
  [
    'a wrong webhook secret',
    'requests_refused',
    ({ monitor, facts: { nowMs } }) => {
      refused(monitor, nowMs, { wrong_signature: 3 });
    },
  ],
  ['a store that is down', 'store_down', ({ facts }) => (facts.blocked = failing('ECONNREFUSED'))],
  [
    'a full disk',
    'disk_full',
    ({ monitor, facts }) => {
      const error = { kind: 'no_room', message: 'the database has no room on its disk' } as const;
      monitor.troubled(error);
      facts.nowMs += 2_500;
    },
  ],
  [
    'a held mass removal',
    'held_removals',
    ({ databases }) =>
      databases.change(
        `INSERT INTO due_reads (product_id, reason, priority, is_suspect, made_at_ms, first_made_at_ms, not_before_ms)
         VALUES ('1', 'confirm_removal', 4, 0, 1, 1, ?)`,
        HELD_MS,
      ),
  ],
])('%s is %s', async (_what, code, happen) => {
  const mirror = await startMirror();
  const { ops, monitor, logged, beat } = mirror;
  happen(mirror);
  await beat();
  const { status, json } = await ops.ask('/api/status');
  expect([status, json]).toMatchObject([
    200,
    { causes: expect.arrayContaining([expect.objectContaining({ code })]) },
  ]);
  vi.advanceTimersByTime(1_000);
  expect(logged.map((line) => (JSON.parse(line) as { cause?: string }).cause)).toContain(code);
  expect(valueOf(await monitor.registry.metrics(), `stock_mirror_cause{code="${code}"}`)).toBe(1);
  expect((await ops.ask('/')).text).toContain(`<code>${code}</code>`);
  expect(await printed(mirror)).toMatch(new RegExp(`^(critical|warning) +${code} `, 'm'));
});

test('a start and a late heartbeat have one cause on every face', async () => {
  const mirror = await startMirror();
  const { ops, monitor, facts, beat, databases } = mirror;
  const shownFirst = async (): Promise<unknown> => {
    const [sql] = databases.rows<{ state: string; cause: string }>(
      'SELECT state, state_cause AS cause FROM mirror_status',
    );
    const { causes } = (await ops.ask('/api/status')).json as { causes: { code: string }[] };
    const { trust } = (await ops.ask('/api/changes?trust=1')).json as { trust: { cause: string } };
    const page = /<code>(\w+)<\/code>/.exec((await ops.ask('/')).text)?.[1];
    const metrics = await monitor.registry.metrics();
    const isCounted = valueOf(metrics, `stock_mirror_cause{code="${sql?.cause}"}`) === 1;
    const command = /^critical +(\w+) /m.exec(await printed(mirror))?.[1];
    return { sql, api: causes[0]?.code, feed: trust.cause, page, command, isCounted };
  };
  const everywhere = (cause: string): unknown => ({
    sql: { state: 'stale', cause },
    api: cause,
    feed: cause,
    page: cause,
    command: cause,
    isCounted: true,
  });
  // The start writes it when it opens the file.
  databases.change('UPDATE service_state SET alive_at_ms = ?', facts.nowMs);
  expect(await shownFirst()).toEqual(everywhere('starting'));
  await beat();
  // The heartbeat hangs, while the mirror can be read.
  facts.nowMs += 11_000;
  databases.change('UPDATE service_state SET alive_at_ms = alive_at_ms - 60000');
  // The feed computes trust once a second.
  await vi.waitFor(async () => expect(await shownFirst()).toEqual(everywhere('stopped')), {
    timeout: 60_000,
  });
});

test.each<[string, SqliteFault['kind'], CauseCode]>([
  ['a full disk', 'no_room', 'disk_full'],
  ['a locked file', 'busy', 'mirror_locked'],
  ['a file that was replaced', 'unreachable', 'mirror_failed'],
  ['a damaged file', 'damaged', 'mirror_failed'],
])('%s is named by status and doctor as by page and API', async (_what, kind, code) => {
  const mirror = await startMirror();
  const { ops, facts, beat, unlock, path } = mirror;
  await beat();
  facts.fault = new SqliteFault(kind, 'the file cannot be used');
  unlock();
  await beat();
  const { state, causes } = (await ops.ask('/api/status')).json as { state: string; causes: Cause[] };
  expect([state, causes[0]?.code]).toEqual(['stale', code]);
  expect((await ops.ask('/')).text).toContain(`<code>${code}</code>`);
  expect(await printed(mirror)).toMatch(new RegExp(`^critical +${code} `, 'm'));
  const env = { ...REQUIRED_SETTINGS, DATABASE_PATH: path, OPS_PORT: String(ops.port) };
  const findings = await checkProcess(loadConfig({ env, cwd: '/nowhere' }));
  expect(findings.map(({ message }) => message)).toContainEqual(expect.stringMatching(`^${code}: `));
});

test('a fault that is over is followed by no other cause before the next heartbeat', async () => {
  const { facts, beat, monitor, logged } = await startMirror();
  const receive = () => monitor.receive(heartbeat(facts.nowMs));
  await beat();
  facts.fault = new SqliteFault('busy', 'mirror.db is locked by another program');
  receive();
  facts.nowMs += 11_000;
  facts.fault = null;
  receive();
  await beat();
  const causes = logged.map((line) => (JSON.parse(line) as { cause?: string }).cause);
  expect(causes).toContain('mirror_locked');
  expect(causes).not.toContain('stopped');
});

test('shows when a webhook of the store was last accepted, and who can end a cause', async () => {
  const mirror = await startMirror();
  const { ops, monitor, databases, facts, beat, path } = mirror;
  const env = { ...REQUIRED_SETTINGS, DATABASE_PATH: path, OPS_PORT: String(ops.port) };
  const config = loadConfig({ env, cwd: '/nowhere' });
  const shown = async () => {
    const page = (await ops.ask('/')).text.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
    const findings = (await checkProcess(config)).map(({ message }) => message).join('\n');
    const command = await printed(mirror);
    return {
      accepted: [
        /last webhook accepted from the store +(.*)/.exec(command)?.[1],
        /Last webhook (.*?) *Oldest check/.exec(page)?.[1],
        /last webhook accepted from the store: (.*)/.exec(findings)?.[1],
      ],
      owners: [
        /first_read \(.*who can end it: (.*?)\):/.exec(command)?.[1],
        / first_read .*?Who can end it: (the mirror itself)/i.exec(page)?.[1],
      ],
    };
  };
  monitor.receive(heartbeat(facts.nowMs));
  await beat();
  expect(await shown()).toEqual({
    accepted: ['never', 'never', 'never'],
    owners: ['the mirror itself', 'the mirror itself'],
  });
  databases.change('UPDATE mirror_state SET last_webhook_at_ms = ?', facts.nowMs - 3 * DAY_MS);
  await beat();
  expect((await shown()).accepted).toEqual(['3 days ago', '3 days ago', '3 days ago']);
});
