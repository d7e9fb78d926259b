/** A replica that has nothing yet shows nothing, and says why: an empty mirror with an epoch of its own would make readers start over. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { startShared } from '../../src/app/shared.ts';
import { delivery, item, storeAt, T0, temporaryFolder } from '../mirror/mirror-file.ts';
import { TOKEN } from '../ops/harness.ts';
import { eventually } from '../process/wait.ts';
import { startMachines } from '../replication/machines.ts';
import { startPrimary, startWay } from '../replication/http/machines.ts';
import { sharedConfig } from './shared-config.ts';

interface Refusal {
  readonly error: string;
  readonly error_description: string;
}

async function startFollower(url: string) {
  const folder = temporaryFolder();
  const path = join(folder, 'copy', 'mirror.db');
  const env = { DATABASE_PATH: path, OPS_PORT: '0', LOG_URL: url, LOG_TOKEN: TOKEN };
  const deaths: Error[] = [];
  const service = await startShared(sharedConfig(env, folder), pino({ level: 'silent' }), (error) => {
    deaths.push(error);
  });
  onTestFinished(() => service.stop());
  return {
    path,
    deaths,
    ask: (at: string) => fetch(`http://127.0.0.1:${service.ops.port}${at}`),
  };
}

test('a new copy answers 503 with the reason while its primary is not reached, and has no file that anybody could read', async () => {
  const primary = await storeAt();
  for (let n = 0; n < 39; n += 1) {
    await primary.writer.appendDelivery(delivery(`r${n}`, item({ new: n, update_time: T0 + n })), T0 + n);
  }
  const { epoch } = (await primary.reader.ask('status')) as { epoch: string };
  const way = await startWay(9);
  const copy = await startFollower(way.url);
  const position = `/api/changes?epoch=${epoch}&after=1`;
  const refusal = await eventually(
    async () => {
      const told = (await (await copy.ask('/api/stock')).json()) as Refusal;
      return told.error_description.includes('cannot be reached') && told;
    },
    { what: 'the reason' },
  );
  expect(refusal).toMatchObject({ error: 'unavailable' });
  for (const at of ['/api/stock', '/api/status', position, '/readyz'])
    expect((await copy.ask(at)).status, at).toBe(503);
  expect(existsSync(copy.path)).toBe(false);

  way.lead((await startPrimary(primary)).port);
  const answer = await eventually(
    async () => {
      const found = await copy.ask(position);
      // Its consumers are never told to start over.
      expect([200, 503]).toContain(found.status);
      return found.status === 200 && ((await found.json()) as object);
    },
    { what: 'a mirror', withinMs: 15_000 },
  );
  expect(answer).toMatchObject({ epoch });
  expect(copy.deaths).toEqual([]);
});

test('a new replica of an engine that has nothing yet says what it waits for', async () => {
  const machines = await startMachines();
  const replica = await machines.begin('a', 'replica');
  const told = await eventually(
    async () => {
      const answer = await replica.ask('/api/changes?epoch=00&after=39');
      expect(answer.status).toBe(503);
      const refusal = (await answer.json()) as Refusal;
      return existsSync(replica.path) && refusal.error_description;
    },
    { what: 'its reason' },
  );
  expect(told).toMatch(/nothing was copied so far|holds no history yet/);
  await machines.begin('b', 'receive,replica,lead');
  await eventually(async () => (await replica.ask('/api/status')).status === 200, {
    what: 'something to show',
    withinMs: 15_000,
  });
});
