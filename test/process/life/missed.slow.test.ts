/**
 * Each way in which a delivery may be missed (docs/architecture.md#what-may-have-been-missed), provoked from
 * outside: it is a row of the inbox, SQL, API and page show it, and reads repair what was lost.
 */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect, test, type TestContext } from 'vitest';
import type { MissedWhy } from '../../../src/core/input.ts';
import { inboxPath } from '../../../src/inbox/inbox-file.ts';
import { queueLimit } from '../../../src/platform/accept-queue.ts';
import { readMissed } from '../../../src/inbox/missed.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { lacking, startCluster } from '../../stream/nats-cluster.ts';
import {
  eventually,
  inboxRows,
  plainVariants,
  proveWayIn,
  rows,
  startMirror,
  startService,
  statusOf,
  temporaryFolder,
  untilAtRest,
  type Json,
} from '../harness.ts';
import { holdSocket, type SocketUnit } from './socket-unit.ts';

interface Mirror {
  readonly databasePath: string;
  readonly opsUrl: string;
}

interface Missed {
  /** A mirror that runs and has missed something. */
  readonly mirror: Mirror;
}

interface Scene {
  readonly t: TestContext;
  readonly sandbox: Sandbox;
  /** From now on reads wait, so that nothing is repaired before it was seen. */
  readonly holdReads: () => void;
  /** The webhook of a change does not arrive. */
  readonly lose: () => void;
}

/** What all readers see until it is repaired. */
interface Shown {
  readonly state: string;
  readonly cause: string | null;
}

const EVERYTHING: Shown = { state: 'catching_up', cause: 'downtime' };
const VARIANTS: Shown = { state: 'live', cause: null };

/** After a stall of this length, the receiver asks for its accept queue. */
const STALL_MS = 3_000;
const UNSERVED_MS = 31_000;
/** Connections that the kernel keeps for a socket that nothing serves. */
const QUEUE = queueLimit();
const MORE = 100;

async function started(scene: Scene): Promise<Awaited<ReturnType<typeof startMirror>>> {
  const mirror = await startMirror(scene.t, scene.sandbox);
  await untilAtRest(mirror, scene.sandbox);
  return mirror;
}

/** Ends a mirror and starts it again. */
async function restarted(
  scene: Scene,
  end: (mirror: Awaited<ReturnType<typeof started>>) => Promise<unknown>,
): Promise<Missed> {
  const { t, sandbox, lose, holdReads } = scene;
  const mirror = await started(scene);
  await end(mirror);
  lose();
  holdReads();
  return { mirror: await startMirror(t, sandbox, { folder: mirror.folder }) };
}

/** Stops a process while its kernel goes on, and loses a webhook meanwhile. */
async function stalled(scene: Scene, meanwhile: () => Promise<void>): Promise<Missed> {
  const mirror = await started(scene);
  mirror.signal('SIGSTOP');
  await meanwhile();
  scene.lose();
  scene.holdReads();
  mirror.signal('SIGCONT');
  return { mirror };
}

/** Opens connections until the kernel takes no more. @returns a function that closes them. */
async function fillQueue({ t }: Scene, port: number): Promise<() => void> {
  let waiting = 0;
  const sockets = Array.from({ length: QUEUE + MORE }, () =>
    connect(port, '127.0.0.1')
      .on('connect', () => (waiting += 1))
      .on('error', () => undefined),
  );
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  t.onTestFinished(close);
  await eventually(() => waiting >= QUEUE, { what: 'the queue is full' });
  return close;
}

/** Stops a mirror whose socket stays open. @param next starts the one that runs after it. */
async function keptSocket(scene: Scene, next: (unit: SocketUnit) => Promise<SocketUnit>): Promise<Missed> {
  const { t, sandbox, lose, holdReads } = scene;
  // A slow disk could take longer than a stop may.
  const unit = await holdSocket(t, sandbox, temporaryFolder(t));
  await unit.start();
  await proveWayIn(`http://127.0.0.1:${unit.port}/webhooks`, sandbox.webhookSecret);
  await untilAtRest(unit, sandbox);
  await unit.stop();
  lose();
  holdReads();
  return { mirror: await next(unit) };
}

interface Case {
  readonly name: string;
  readonly why: MissedWhy;
  readonly shown: Shown;
  /** Empty, or why it cannot be provoked here. */
  readonly skipped?: string;
  readonly provoke: (scene: Scene) => Promise<Missed>;
}

const CASES: readonly Case[] = [
  {
    name: 'a first start',
    why: 'first_start',
    shown: { state: 'catching_up', cause: 'first_read' },
    provoke: async ({ t, sandbox, holdReads }) => {
      holdReads();
      return { mirror: await startMirror(t, sandbox) };
    },
  },
  {
    name: 'a port that an orderly stop closed',
    why: 'port_closed',
    shown: EVERYTHING,
    provoke: (scene) => restarted(scene, (mirror) => mirror.stop()),
  },
  {
    name: 'a killed process',
    why: 'killed',
    shown: EVERYTHING,
    provoke: (scene) => restarted(scene, (mirror) => mirror.kill()),
  },
  {
    name: 'a stalled process that did not serve its socket for more than 30 s',
    why: 'unserved',
    shown: EVERYTHING,
    provoke: (scene) => stalled(scene, () => sleep(UNSERVED_MS)),
  },
  {
    name: 'a stalled process whose accept queue was full',
    why: 'unserved',
    shown: EVERYTHING,
    provoke: (scene) =>
      stalled(scene, async () => {
        await fillQueue(scene, Number(new URL(scene.sandbox.webhookUrl ?? '').port));
        await sleep(STALL_MS);
      }),
  },
  {
    name: 'a kept socket that was unserved for more than 30 s',
    why: 'unserved',
    shown: EVERYTHING,
    provoke: (scene) =>
      keptSocket(scene, async (unit) => {
        await sleep(UNSERVED_MS);
        await unit.start();
        return unit;
      }),
  },
  {
    name: 'a kept socket whose queue was full',
    why: 'unserved',
    shown: EVERYTHING,
    provoke: (scene) =>
      keptSocket(scene, async (unit) => {
        const close = await fillQueue(scene, unit.port);
        await unit.start();
        close();
        return unit;
      }),
  },
  {
    name: 'a socket kept over a boot',
    why: 'unserved',
    shown: EVERYTHING,
    provoke: (scene) =>
      keptSocket(scene, async (unit) => {
        const db = new Database(inboxPath(unit.databasePath));
        db.exec("UPDATE receiver SET boot_id = 'the boot before'");
        db.close();
        await unit.start();
        return unit;
      }),
  },
  {
    name: 'another socket than the one that was kept',
    why: 'unserved',
    shown: EVERYTHING,
    provoke: (scene) =>
      keptSocket(scene, async ({ folder }) => {
        const other = await holdSocket(scene.t, scene.sandbox, folder);
        await other.start();
        return other;
      }),
  },
  {
    name: 'a delivery that could not be stored',
    why: 'not_stored',
    shown: VARIANTS,
    provoke: async (scene) => {
      const mirror = await started(scene);
      const db = new Database(inboxPath(mirror.databasePath));
      scene.t.onTestFinished(() => void db.close());
      scene.holdReads();
      db.exec('BEGIN IMMEDIATE');
      scene.sandbox.operations.add({ ...plainVariants(scene.sandbox, 1)[0], by: 11 });
      await eventually(() => mirror.log.some(({ msg }) => String(msg).includes('were answered 503')), {
        what: 'the delivery is refused',
      });
      db.exec('COMMIT');
      return { mirror };
    },
  },
  {
    name: 'a stream without a receiver',
    why: 'stream_gap',
    shown: EVERYTHING,
    skipped: lacking(),
    provoke: async (scene) => {
      const { t, sandbox, lose, holdReads } = scene;
      const { env } = await startCluster(t);
      const mirror = await startMirror(t, sandbox, { env });
      const receiver = await startMirror(t, sandbox, { env: { ...env, ROLE: 'receiver' } });
      sandbox.webhookUrl = mirror.webhookUrl;
      await untilAtRest(mirror, sandbox);
      await receiver.stop();
      await mirror.stop();
      lose();
      holdReads();
      return { mirror: await startMirror(t, sandbox, { folder: mirror.folder, env }) };
    },
  },
];

const whysOf = ({ databasePath }: Mirror): MissedWhy[] =>
  inboxRows<{ body: Buffer }>(databasePath, "SELECT body FROM inbox WHERE kind = 'missed' ORDER BY seq").map(
    ({ body }) => readMissed(body, 0).why,
  );

async function shownBy({ opsUrl, databasePath }: Mirror) {
  const ask = (path: string): Promise<Response> => fetch(new URL(path, opsUrl));
  const status = (await (await ask('/api/status')).json()) as Json;
  const causes = (status['causes'] as { code: string }[]).map(({ code }) => code);
  const page = await (await ask('/')).text();
  return {
    inSql: statusOf(databasePath).state,
    inApi: String(status['state']),
    causes,
    onPage: [...page.matchAll(/id="cause-(\w+)"/g)].map(([, code]) => code),
    pageState: /id="now" class="(\w+)"/.exec(page)?.[1],
  };
}

for (const { name, why, shown, skipped = '', provoke } of CASES) {
  const needs = skipped === '' ? '' : ` (skipped: ${skipped})`;
  test.skipIf(skipped !== '').concurrent(`${name} is ${why}, shown and repaired${needs}`, async (t) => {
    const sandbox = await startService(t);
    const released = Promise.withResolvers<undefined>();
    const { mirror } = await provoke({
      t,
      sandbox,
      holdReads: () => (sandbox.reads.intercept = () => released.promise),
      lose: () => {
        sandbox.webhookUrl = null;
        sandbox.operations.add({ ...plainVariants(sandbox, 1)[0], by: 11 });
      },
    });
    await eventually(() => whysOf(mirror).includes(why), { what: `the inbox has a row ${why}` });
    const { state, cause } = shown;
    await eventually(
      async () => {
        expect(await shownBy(mirror)).toMatchObject({
          inSql: state,
          inApi: state,
          pageState: state,
          ...(cause === null
            ? {}
            : {
                causes: expect.arrayContaining([cause]) as string[],
                onPage: expect.arrayContaining([cause]) as string[],
              }),
        });
        if (shown === VARIANTS)
          expect(rows(mirror.databasePath, 'SELECT 1 FROM mirror_sellable WHERE trusted = 0')).not.toEqual(
            [],
          );
        return true;
      },
      { what: `it is shown as ${state} ${cause}` },
    );
    released.resolve(undefined);
    await untilAtRest(mirror, sandbox);
  });
}
