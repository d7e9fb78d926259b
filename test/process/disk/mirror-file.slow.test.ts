/** Faults of the mirror's file while it runs and before a start (docs/architecture.md#start). */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, copyFileSync, readdirSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import {
  eventually,
  notKept,
  plainVariants,
  startBoth,
  startMirror,
  startService,
  statusOf,
  temporaryFolder,
  untilAtRest,
  untilLive,
  untilQuiet,
  type Owner,
  type RunningMirror,
  type StatusRow,
} from '../harness.ts';
import { startLoad } from '../load.ts';

const HOLD_LOCK = fileURLToPath(new URL('fixtures/hold-lock.ts', import.meta.url));
const OTHER_UID = 65_534;
const isRoot = process.getuid?.() === 0;

interface Files {
  readonly path: string;
  readonly older: string;
  readonly foreign: string;
}

/** @returns the repair, or undefined if none is needed. */
type Happening = (files: Files, test: Owner) => (() => unknown) | undefined | Promise<() => unknown>;

const remove = ({ path }: Files): undefined => {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
};

const truncate = ({ path }: Files): undefined => {
  truncateSync(path, 4 * 4_096);
};

const putBack = (from: 'older' | 'foreign', files: Files): void => {
  copyFileSync(files[from], `${files.path}.new`);
  renameSync(`${files.path}.new`, files.path);
};

const replaceByOlder = (files: Files): undefined => {
  putBack('older', files);
};

const replaceByForeign = (files: Files): (() => void) => {
  putBack('foreign', files);
  return () => rmSync(files.path);
};

const lock: Happening = async ({ path }, t) => {
  const child = spawn(process.execPath, [HOLD_LOCK, path], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  t.onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return async () => {
    child.stdin.end();
    await ended;
  };
};

const makeReadOnly = ({ path }: Files): (() => void) => {
  chmodSync(path, 0o444);
  return () => chmodSync(path, 0o644);
};

/** Side files of a reader under another account. */
const takeSideFiles = ({ path }: Files): (() => void) => {
  const reader = new Database(path, { readonly: true });
  reader.prepare('SELECT * FROM mirror_status').get();
  const sides = [`${path}-wal`, `${path}-shm`];
  for (const side of sides) chmodSync(side, 0o400);
  for (const side of sides) chownSync(side, 0, 0);
  return () => void reader.close();
};

interface Case {
  readonly name: string;
  readonly happen: Happening;
  /** Expected in the status or the log. */
  readonly words: RegExp;
  readonly epoch: 'same' | 'new';
  readonly isMovedAside?: boolean;
}

async function filesOf({ databasePath: path }: RunningMirror, t: Owner): Promise<Files> {
  const folder = temporaryFolder(t);
  const files = { path, older: join(folder, 'older.db'), foreign: join(folder, 'foreign.db') };
  const db = new Database(path, { readonly: true });
  await db.backup(files.older);
  db.close();
  const foreign = new Database(files.foreign);
  foreign.exec('CREATE TABLE notes (text)');
  foreign.close();
  return files;
}

async function saidBy(mirror: RunningMirror, logged: number): Promise<string> {
  const { body } = await mirror.get('/api/status');
  return JSON.stringify(body) + JSON.stringify(mirror.log.slice(logged));
}

async function expectOutcome(
  { path }: Files,
  before: StatusRow,
  { name, epoch, isMovedAside = false }: Case,
): Promise<void> {
  // A new file has neither epoch nor number at first.
  await eventually(
    () => {
      const now = statusOf(path);
      return (now.epoch === before.epoch) === (epoch === 'same') && now.last_seq >= before.last_seq;
    },
    { what: `${name}: the ${epoch} epoch, and no number twice` },
  );
  await untilLive({ databasePath: path });
  expect([name, readdirSync(dirname(path)).includes('mirror.db.aside')]).toEqual([name, isMovedAside]);
}

const RUNNING: readonly Case[] = [
  {
    name: 'replaced by an older copy',
    happen: replaceByOlder,
    words: /deleted, moved or replaced/,
    epoch: 'new',
  },
  { name: 'deleted', happen: remove, words: /mirror\.db was deleted, moved or replaced/, epoch: 'new' },
  { name: 'locked', happen: lock, words: /locked by another program/, epoch: 'same' },
  { name: 'truncated', happen: truncate, words: /damaged|malformed/, epoch: 'new', isMovedAside: true },
];
const FOREIGN: Case = {
  name: 'replaced by a foreign database',
  happen: replaceByForeign,
  words: /mirror\.db belongs to another program/,
  epoch: 'new',
};

test.concurrent.for([{ cases: RUNNING }, { cases: [FOREIGN] }])(
  'answers 204 and ends equal if the running mirror is $cases.0.name and the like',
  async ({ cases }, t) => {
    const service = { products: 30, ackTimeoutMs: 30_000 };
    const { sandbox, mirror } = await startBoth(t, service, { folder: temporaryFolder(t) });
    const files = await filesOf(mirror, t);
    const load = startLoad(t, sandbox, 20);
    for (const each of cases) {
      const settled = load.settled.length;
      await eventually(() => load.settled.length > settled + 20, { what: 'traffic' });
      const before = statusOf(files.path);
      const logged = mirror.log.length;
      const repair = await each.happen(files, t);
      const isSaid = async (): Promise<boolean> => {
        // Damage shows only once a page is read.
        await mirror.get('/api/variants?limit=1000');
        return each.words.test(await saidBy(mirror, logged));
      };
      await eventually(isSaid, { what: `${each.name}: the words` });
      expect((await fetch(mirror.webhookUrl.replace('/webhooks', '/healthz'))).status).toBe(200);
      await repair?.();
      const isBack = (): boolean =>
        mirror.log.slice(logged).some(({ msg }) => msg === 'the mirror works again');
      await eventually(isBack, { what: `${each.name}: the mirror works again` });
      await expectOutcome(files, before, each);
    }
    load.stop();
    await untilAtRest(mirror, sandbox);
    expect(load.settled.filter(({ status }) => status !== 204)).toEqual([]);
    expect(notKept(files.path, load.settled)).toEqual([]);
    expect(await mirror.stop()).toEqual({ code: 0, signal: null });
  },
);

const STARTS: readonly Case[] = [
  {
    name: 'replaced by an older copy',
    happen: replaceByOlder,
    words: /older than what its readers/,
    epoch: 'new',
  },
  { name: 'deleted', happen: remove, words: /file is missing/, epoch: 'new' },
  { name: 'locked', happen: lock, words: /mirror\.db is locked by another program/, epoch: 'same' },
  FOREIGN,
  { name: 'truncated', happen: truncate, words: /mirror\.db is damaged/, epoch: 'new', isMovedAside: true },
];
const STARTS_OF_OTHER_USER: readonly Case[] = [
  {
    name: 'not writable',
    happen: makeReadOnly,
    words: /mirror\.db.*make the file .*writable/,
    epoch: 'same',
  },
  {
    name: 'a reader’s side files',
    happen: takeSideFiles,
    words: /mirror\.db-wal is locked by another program/,
    epoch: 'same',
  },
];

test.concurrent.for([
  { cases: STARTS, user: {} },
  ...(isRoot ? [{ cases: STARTS_OF_OTHER_USER, user: { uid: OTHER_UID, gid: OTHER_UID } }] : []),
])(
  'answers 204 and ends equal after a start on a mirror $cases.0.name and the like',
  async ({ cases, user }, t) => {
    const sandbox = await startService(t, { products: 12, ackTimeoutMs: 30_000 });
    const folder = temporaryFolder(t);
    if (isRoot) chownSync(folder, user.uid ?? 0, user.gid ?? 0);
    let mirror = await startMirror(t, sandbox, { folder, user });
    await untilLive(mirror);
    await untilQuiet(mirror, sandbox);
    const files = await filesOf(mirror, t);
    await deliver(sandbox);
    await untilQuiet(mirror, sandbox);
    for (const each of cases) {
      expect(await mirror.stop()).toEqual({ code: 0, signal: null });
      const before = statusOf(files.path);
      const repair = await each.happen(files, t);
      mirror = await startMirror(t, sandbox, { folder, user });
      await deliver(sandbox);
      expect((await fetch(mirror.webhookUrl.replace('/webhooks', '/healthz'))).status).toBe(200);
      await eventually(async () => each.words.test(await saidBy(mirror, 0)), {
        what: `${each.name}: the words`,
      });
      await repair?.();
      await expectOutcome(files, before, each);
      await untilAtRest(mirror, sandbox);
    }
  },
);

const READ_STATE = `const { DatabaseSync } = require('node:sqlite');
  const db = new DatabaseSync(process.argv[1], { readOnly: true });
  console.log(db.prepare('SELECT state FROM mirror_status').get().state);`;

test.runIf(isRoot)('a stopped mirror can be read without write access to its folder', async (t) => {
  const { mirror } = await startBoth(t, {}, { folder: temporaryFolder(t) });
  expect(await mirror.stop()).toEqual({ code: 0, signal: null });
  const state = execFileSync(process.execPath, ['-e', READ_STATE, mirror.databasePath], {
    uid: OTHER_UID,
    gid: OTHER_UID,
    encoding: 'utf8',
  });
  expect(state).toBe('stale\n');
});

async function deliver(sandbox: Sandbox): Promise<void> {
  for (const level of plainVariants(sandbox, 4)) sandbox.operations.add({ ...level, by: 1 });
  await sandbox.network.idle();
  expect(sandbox.deliveries.records.slice(-4).map(({ status }) => status)).toEqual([204, 204, 204, 204]);
}
