/** A primary and its copy as processes of their own, killed under load: equal row by row, and promoted in the end. */
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { signBody } from '../../../src/store-api/signature.ts';
import { delivery, item, T0 } from '../../mirror/mirror-file.ts';
import { differingFiles } from '../../replication/http/machines.ts';
import { eventually, temporaryFolder, type Owner } from '../harness.ts';

const CLI = fileURLToPath(new URL('../../../src/cli.ts', import.meta.url));
const SECRET = 'a-webhook-secret';
const TOKEN = '0123456789abcdef-long';

function run(owner: Owner, args: readonly string[], env: Readonly<Record<string, string>>, cwd: string) {
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (more: string) => (text += more));
  const ended = once(child, 'close').then(([code]) => code as number | null);
  owner.onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    get text() {
      return text;
    },
    ended,
    end: async (signal: NodeJS.Signals) => {
      child.kill(signal);
      return ended;
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

const position = (path: string): { applied: number; logged: number } => {
  const db = new Database(path, { readonly: true, fileMustExist: true });
  try {
    db.prepare('ATTACH ? AS event_log').run(path.replace(/\.db$/, '.log.db'));
    return db
      .prepare(
        'SELECT (SELECT applied_seq FROM mirror_state) AS applied, (SELECT max(seq) FROM event_log.log) AS logged',
      )
      .get() as { applied: number; logged: number };
  } finally {
    db.close();
  }
};

test('killed on either side under load, the copy is equal row by row; the primary gone, it is promoted', async (owner) => {
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
      owner,
      ['serve'],
      { ...store, DATABASE_PATH: primaryPath, PORT: `${port}`, OPS_PORT: `${opsPort}`, OPS_TOKEN: TOKEN },
      here,
    );
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, `${TOKEN}\n`);
  const startCopy = () =>
    run(
      owner,
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
  const level = async (): Promise<void> => {
    await eventually(
      () => {
        const [a, b] = [position(primaryPath), position(copyPath)];
        return a.applied === a.logged && b.logged === a.logged && b.applied === a.logged;
      },
      { what: 'a copy that is level', withinMs: 40_000 },
    );
  };
  let primary = startPrimary();
  await send(50);
  let copy = startCopy();
  await level();
  for (let kills = 0; kills < 3; kills += 1) {
    const sending = send(80);
    await eventually(() => position(copyPath).logged > 50 + kills * 80, { what: 'some of it' });
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
  await level();
  const status = await eventually(
    async () => {
      const answer = await fetch(`http://127.0.0.1:${copyOpsPort}/api/replication`);
      return answer.status === 200 ? ((await answer.json()) as object) : null;
    },
    { what: 'the private listener of the copy' },
  );
  expect(status).toMatchObject({ origin: `http://127.0.0.1:${opsPort}`, receiver: null, lead: null });

  await primary.end('SIGTERM');
  const refused = run(owner, ['promote', '--database', copyPath], {}, there);
  expect(await refused.ended).toBe(1);
  expect(refused.text).toContain('already serves');
  expect(await copy.end('SIGTERM')).toBe(0);
  expect(differingFiles(primaryPath, copyPath)).toEqual([]);
  const promoted = run(owner, ['promote', '--json', '--database', copyPath], {}, there);
  expect(await promoted.ended).toBe(0);
  expect(JSON.parse(promoted.text)).toMatchObject({ origin: `http://127.0.0.1:${opsPort}` });
  const again = run(owner, ['promote', '--database', copyPath], {}, there);
  expect(await again.ended).toBe(1);
  expect(again.text).toContain('is no copy: nothing was changed');
  run(
    owner,
    ['serve'],
    { ...store, DATABASE_PATH: copyPath, PORT: `${port}`, OPS_PORT: `${copyOpsPort}` },
    there,
  );
  await send(5);
  await eventually(() => position(copyPath).applied > 1_000_000, { what: 'entries of the new epoch' });
}, 180_000);
