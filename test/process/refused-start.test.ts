import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import {
  environmentFor,
  plainVariants,
  spawnMirror,
  startBoth,
  statusOf,
  temporaryFolder,
  untilEqual,
} from './harness.ts';

test.concurrent(
  'a second instance on the same database gives way, and leaves the first unharmed',
  async (t) => {
    const { sandbox, mirror } = await startBoth(t);
    const folder = dirname(mirror.databasePath);
    const second = spawnMirror(t, environmentFor(sandbox, mirror.databasePath), folder);
    expect(await second.ended).toEqual({ code: 1, signal: null });
    expect(second.stderr).toContain(mirror.databasePath);
    expect(second.stderr).toContain('another stock-mirror');
    expect(second.stderr).not.toContain('    at ');

    sandbox.operations.add({ ...plainVariants(sandbox, 1)[0]!, by: 3 });
    await sandbox.network.idle();
    expect(sandbox.deliveries.records.at(-1)).toMatchObject({ status: 204 });
    await untilEqual(mirror, sandbox);
  },
);

test.concurrent(
  'a port in use is named, and the vain start does not pass for a time when somebody listened',
  async (t) => {
    const { sandbox, mirror } = await startBoth(t);
    const other = await startBoth(t);
    await other.mirror.stop();
    const { alive_at: aliveAt } = statusOf(other.mirror.databasePath);

    const taken = new URL(mirror.webhookUrl).port;
    const env = { ...environmentFor(sandbox, other.mirror.databasePath), PORT: taken };
    const second = spawnMirror(t, env, dirname(other.mirror.databasePath));
    expect(await second.ended).toEqual({ code: 1, signal: null });
    expect(second.stderr).toContain(`127.0.0.1:${taken}`);
    expect(statusOf(other.mirror.databasePath).alive_at).toBe(aliveAt);
  },
);

test.concurrent(
  'without configuration it names every variable that is missing, and ends with 2',
  async (t) => {
    const child = spawnMirror(t, {}, temporaryFolder(t));
    expect(await child.ended).toEqual({ code: 2, signal: null });
    for (const name of [
      'SERVICE_BASE_URL',
      'SERVICE_CLIENT_ID',
      'SERVICE_CLIENT_SECRET',
      'SERVICE_WEBHOOK_SECRET',
    ]) {
      expect(child.stderr).toContain(name);
    }
  },
);

test.concurrent('a database of another program is refused by name', async (t) => {
  const { sandbox, mirror } = await startBoth(t);
  const folder = temporaryFolder(t);
  const path = join(folder, 'notes.txt');
  const { writeFileSync } = await import('node:fs');
  writeFileSync(path, 'these are not the tables you are looking for'.repeat(200));
  const child = spawnMirror(t, environmentFor(sandbox, path), folder);
  expect(await child.ended).toEqual({ code: 1, signal: null });
  expect(child.stderr).toContain(path);
  expect(mirror.stderr).toBe('');
});
