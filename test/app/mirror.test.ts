/** What was missed is noted until its reads have begun (docs/architecture.md#downtime). */
import { rmSync } from 'node:fs';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openMirror, type OpenMirror } from '../../src/app/mirror.ts';
import { loadConfig } from '../../src/config/config.ts';
import { eventually } from '../process/wait.ts';
import { newPath } from '../mirror/mirror-file.ts';
import { log } from '../reconcile/mirror.ts';

async function opened(path = newPath()): Promise<OpenMirror> {
  const env = {
    ...{ SERVICE_BASE_URL: 'http://127.0.0.1:9', SERVICE_CLIENT_ID: 'c', SERVICE_CLIENT_SECRET: 's' },
    ...{ SERVICE_WEBHOOK_SECRET: 'w', DATABASE_PATH: path },
  };
  const config = loadConfig({ env, cwd: '/nowhere' });
  const mirror = await openMirror({ config, log, onDeath: (error) => expect.unreachable(error.message) });
  onTestFinished(() => mirror.close());
  await mirror.store.mirror.tried;
  return mirror;
}

test('a downtime noted during the repair of another is repaired too', async () => {
  const mirror = await opened();
  const { mirror: writer } = mirror.store;
  const append = writer.append.bind(writer);
  const inputs = vi.spyOn(writer, 'append').mockImplementationOnce(async (input) => {
    const applied = await append(input);
    mirror.missed(2_000);
    return applied;
  });
  mirror.missed(1_000);
  await mirror.prepared;
  expect(inputs.mock.calls.filter(([{ kind }]) => kind === 'missed')).toHaveLength(2);
});

test('a new epoch counts as missed until everything is due', async () => {
  const path = newPath();
  const first = await opened(path);
  await first.store.inbox.beginEpoch('seen', 5);
  await first.close();
  rmSync(path);
  const next = await opened(path);
  expect(next.missedSinceMs).toBe(0);
  await next.prepared;
  expect(next.missedSinceMs).toBeNull();
  next.reconciler.start();
  await eventually(async () => (await next.store.reader.ask('runningRuns')).length === 1, { what: 'a run' });
});

test('a mirror deleted before it read anything is read', async () => {
  const path = newPath();
  const { store, reconciler } = await opened(path);
  rmSync(path);
  reconciler.start();
  const runs = () => store.reader.ask('runningRuns').catch(() => []);
  await eventually(async () => (await runs()).length === 1, { what: 'a run' });
});
