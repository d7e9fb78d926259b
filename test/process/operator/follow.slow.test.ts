/** A primary and its copy as processes of their own, killed under load: equal row by row, and promoted in the end. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { signBody } from '../../../src/store-api/signature.ts';
import { delivery, item, T0 } from '../../mirror/mirror-file.ts';
import { differingFiles } from '../../replication/http/machines.ts';
import { freePort, isUpToDate, positionIn, startCommand } from '../copies.ts';
import { eventually, rows, temporaryFolder, type Environment } from '../harness.ts';

const SECRET = 'a-webhook-secret';
const TOKEN = '0123456789abcdef-long';

test('killed on either side under load, the copy is equal row by row; the primary gone, it is promoted', async (owner) => {
  const run = (args: readonly string[], env: Environment, cwd: string) =>
    startCommand(owner, { args, env, cwd });
  const folder = temporaryFolder(owner);
  const [here, there] = [join(folder, 'primary'), join(folder, 'copy')];
  for (const each of [here, there]) mkdirSync(each);
  const [port, opsPort, copyOpsPort] = [await freePort(), await freePort(), await freePort()];
  const [primaryPath, copyPath] = [join(here, 'mirror.db'), join(there, 'mirror.db')];
  const store = {
    SERVICE_BASE_URL: 'http://127.0.0.1:9',
    SERVICE_CLIENT_ID: 'id',
    SERVICE_CLIENT_SECRET: 'secret',
    SERVICE_WEBHOOK_SECRET: SECRET,
    RECONCILE_CRON: 'off',
    RESYNC_CRON: 'off',
  };
  const startPrimary = () =>
    run(
      ['serve'],
      {
        ...store,
        DATABASE_PATH: primaryPath,
        PORT: `${port}`,
        OPS_PORT: `${opsPort}`,
        OPS_TOKEN: TOKEN,
        WAREHOUSE_NAMES: '1=Bangkok',
      },
      here,
    );
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, `${TOKEN}\n`);
  const startCopy = () =>
    run(
      ['follow', `http://127.0.0.1:${opsPort}`, '--token-file', tokenFile, '--database', copyPath],
      { OPS_PORT: `${copyOpsPort}` },
      there,
    );
  let sent = 0;
  const send = async (count: number): Promise<void> => {
    for (const end = sent + count; sent < end; sent += 1) {
      const body = delivery(
        `r${sent}`,
        item({ old: 9_000 - sent, new: 8_999 - sent, update_time: T0 + sent }),
      );
      await eventually(
        async () => {
          const { status } = await fetch(`http://127.0.0.1:${port}/webhooks`, {
            method: 'POST',
            body: Buffer.from(body),
            headers: { 'x-service-signature': signBody(SECRET, body) },
          });
          return status === 204;
        },
        { what: 'an answer' },
      );
    }
  };
  const untilCopied = async (): Promise<void> => {
    await eventually(() => isUpToDate(primaryPath, copyPath), {
      what: 'a copy that is up to date',
      withinMs: 40_000,
    });
  };
  let primary = startPrimary();
  await send(50);
  let copy = startCopy();
  await untilCopied();
  for (let kills = 0; kills < 3; kills += 1) {
    const sending = send(80);
    await eventually(() => positionIn(copyPath).logged > 50 + kills * 80, { what: 'some of it' });
    if (kills !== 1) {
      await copy.end('SIGKILL');
      copy = startCopy();
    }
    if (kills !== 0) {
      await primary.end('SIGKILL');
      primary = startPrimary();
    }
    await sending;
  }
  await untilCopied();
  const status = await eventually(
    async () => {
      const answer = await fetch(`http://127.0.0.1:${copyOpsPort}/api/replication`);
      return answer.status === 200 ? ((await answer.json()) as object) : null;
    },
    { what: 'the private listener of the copy' },
  );
  expect(status).toMatchObject({ origin: `http://127.0.0.1:${opsPort}`, receiver: null, lead: null });

  await primary.end('SIGTERM');
  const refused = run(['promote', '--database', copyPath], {}, there);
  expect(await refused.ended).toBe(1);
  expect(refused.text).toContain('already serves');
  expect(await copy.end('SIGTERM')).toBe(0);
  // The names came with the snapshot; the starts since have none of their own.
  expect(rows(copyPath, 'SELECT DISTINCT warehouse_name AS name FROM mirror_stock')).toEqual([
    { name: 'Bangkok' },
  ]);
  expect(differingFiles(primaryPath, copyPath)).toEqual([]);
  const promoted = run(['promote', '--json', '--database', copyPath], {}, there);
  expect(await promoted.ended).toBe(0);
  expect(JSON.parse(promoted.text)).toMatchObject({ origin: `http://127.0.0.1:${opsPort}` });
  const again = run(['promote', '--database', copyPath], {}, there);
  expect(await again.ended).toBe(1);
  expect(again.text).toContain('is no copy: nothing was changed');
  run(['serve'], { ...store, DATABASE_PATH: copyPath, PORT: `${port}`, OPS_PORT: `${copyOpsPort}` }, there);
  await send(5);
  await eventually(() => positionIn(copyPath).applied > 1_000_000, { what: 'entries of the new epoch' });
}, 180_000);
