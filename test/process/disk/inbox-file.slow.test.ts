/**
 * A damaged inbox is replaced. One that cannot be used ends the process; without the file, the next start begins a new
 * epoch (docs/architecture.md#start).
 */
import {
  chmodSync,
  chownSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { inboxPath } from '../../../src/inbox/inbox-file.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { present } from '../../shared/present.ts';
import {
  environmentFor,
  eventually,
  inboxRows,
  plainVariants,
  proveWayIn,
  spawnMirror,
  startBoth,
  startMirror,
  statusOf,
  untilAtRest,
  untilLive,
  untilQuiet,
  type Owner,
  type StatusRow,
} from '../harness.ts';

const OTHER_UID = 65_534;
const isRoot = process.getuid?.() === 0;

async function expectNewEpoch(t: Owner, sandbox: Sandbox, path: string, before: StatusRow): Promise<void> {
  const mirror = await startMirror(t, sandbox, { folder: dirname(path) });
  const after = await eventually(
    () => {
      const now = statusOf(path);
      return now.epoch !== before.epoch && now;
    },
    { what: 'a new epoch' },
  );
  expect(after.last_seq).toBeGreaterThan(before.last_seq);
  await untilAtRest(mirror, sandbox);
  expect(await mirror.stop()).toEqual({ code: 0, signal: null });
}

const PAGE_BYTES = 4_096;

function flip(file: string, page: number): void {
  const bytes = readFileSync(file);
  const at = (page - 1) * PAGE_BYTES;
  for (let i = at; i < at + 8; i += 1) bytes.writeUInt8(bytes.readUInt8(i) ^ 0xff, i);
  writeFileSync(file, bytes);
}

const DAMAGES: Readonly<Record<string, (file: string) => void>> = {
  'with damage in page 1': (file) => flip(file, 1),
  'with damage in page 2': (file) => flip(file, 2),
  'with damage in page 3': (file) => flip(file, 3),
  'cut in half': (file) =>
    truncateSync(file, Math.floor(statSync(file).size / (2 * PAGE_BYTES)) * PAGE_BYTES),
  'cut within its last page': (file) => truncateSync(file, statSync(file).size - 1_000),
};

/** `startMirror` has had a webhook answered 204 when it returns. */
test.concurrent('replaces a damaged inbox at the start and reads everything', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 12 });
  await mirror.stop();
  const path = mirror.databasePath;
  for (const [name, damage] of Object.entries(DAMAGES)) {
    const before = statusOf(path);
    damage(inboxPath(path));
    await expectNewEpoch(t, sandbox, path, before);
    expect([name, existsSync(`${inboxPath(path)}.aside`)]).toEqual([name, true]);
    rmSync(`${inboxPath(path)}.aside`);
  }
});

test.concurrent('replaces an inbox that is damaged while it runs', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 12 });
  const path = mirror.databasePath;
  const before = statusOf(path);
  const other = new Database(inboxPath(path));
  other.pragma('wal_checkpoint(TRUNCATE)');
  other.close();
  writeFileSync(inboxPath(path), readFileSync(inboxPath(path)).fill(0x5a, PAGE_BYTES), { flag: 'r+' });
  const line = await eventually(
    () => mirror.log.find(({ msg }) => String(msg).startsWith('the inbox cannot be used')),
    { what: 'the inbox is replaced' },
  );
  expect(JSON.stringify(line)).toContain(`${inboxPath(path)} is damaged`);
  expect(JSON.stringify(mirror.log)).not.toContain(`${path} is damaged`);
  await proveWayIn(mirror.webhookUrl, sandbox.webhookSecret);
  await eventually(() => statusOf(path).epoch !== before.epoch, { what: 'a new epoch' });
  await untilAtRest(mirror, sandbox);
  expect(await mirror.stop()).toEqual({ code: 0, signal: null });
});

test.concurrent('refuses to start on the file of another program', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 12 });
  await mirror.stop();
  const path = mirror.databasePath;
  const before = statusOf(path);
  rmSync(inboxPath(path));
  new Database(inboxPath(path)).exec('CREATE TABLE notes (text)').close();
  const refused = spawnMirror(t, environmentFor(sandbox, path), dirname(path));
  expect(await refused.ended).toEqual({ code: 1, signal: null });
  expect(refused.stderr).toMatch(
    /^error: \S+mirror\.inbox\.db belongs to another program: move it away[^\n]*\n$/,
  );
  rmSync(inboxPath(path));
  await expectNewEpoch(t, sandbox, path, before);
});

test.skipIf(!isRoot).concurrent('refuses to start on an inbox that is not writable', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 20 });
  await mirror.stop();
  const path = mirror.databasePath;
  const folder = dirname(path);
  const files = [path, `${path}.lock`, `${path}.numbers`, `${path}.token`, inboxPath(path)];
  const own = [folder, ...files, `${inboxPath(path)}.lock`];
  for (const each of own) chownSync(each, OTHER_UID, OTHER_UID);
  chmodSync(folder, 0o755);
  const user = { uid: OTHER_UID, gid: OTHER_UID };
  for (const file of [inboxPath(path), `${inboxPath(path)}.lock`]) {
    chownSync(file, 0, 0);
    chmodSync(file, 0o644);
    const refused = spawnMirror(t, environmentFor(sandbox, path), folder, user);
    expect(await refused.ended).toEqual({ code: 1, signal: null });
    expect(refused.stderr).toMatch(/^error: [^\n]*mirror\.inbox\.db[^\n]*\n$/);
    expect(refused.stderr).toContain('make the file and its folder writable');
    chownSync(file, OTHER_UID, OTHER_UID);
  }
  const again = await startMirror(t, sandbox, { folder, user });
  await untilLive(again);
});

test.skipIf(!isRoot).concurrent('starts on files of another user that its group may write', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 20 });
  await mirror.stop();
  const folder = dirname(mirror.databasePath);
  const files = readdirSync(folder).map((name) => join(folder, name));
  // As of a volume with fsGroup, or one that was restored.
  for (const each of [folder, ...files]) chownSync(each, 0, OTHER_UID);
  chmodSync(folder, 0o770);
  for (const file of files) chmodSync(file, 0o660);
  const user = { uid: OTHER_UID, gid: OTHER_UID };
  await untilLive(await startMirror(t, sandbox, { folder, user }));
});

test.concurrent('ends if the inbox is deleted while it runs', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 12 });
  const path = mirror.databasePath;
  const before = statusOf(path);
  for (const suffix of ['', '-wal', '-shm']) rmSync(inboxPath(path) + suffix);
  expect(await mirror.ended).toEqual({ code: 1, signal: null });
  const last = present(mirror.log.find(({ msg }) => String(msg).startsWith('the receiver has failed')));
  expect(JSON.stringify(last)).toContain('deleted, moved or replaced');
  await expectNewEpoch(t, sandbox, path, before);
});

test.concurrent('begins a new epoch if the inbox has lost its latest rows', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 12 });
  const path = mirror.databasePath;
  for (const level of plainVariants(sandbox, 4)) sandbox.operations.add({ ...level, by: 1 });
  await untilQuiet(mirror, sandbox);
  const before = statusOf(path);
  await mirror.kill();
  rmSync(`${inboxPath(path)}-wal`);
  rmSync(`${inboxPath(path)}-shm`, { force: true });
  await expectNewEpoch(t, sandbox, path, before);
});

test.concurrent('continues after a kill that loses the shared memory', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 20 });
  const path = mirror.databasePath;
  for (const level of plainVariants(sandbox, 2)) sandbox.operations.add({ ...level, by: 1 });
  await untilQuiet(mirror, sandbox);
  const { epoch } = statusOf(path);
  await mirror.kill();
  for (const file of [path, inboxPath(path)]) rmSync(`${file}-shm`);
  const again = await startMirror(t, sandbox, { folder: dirname(path) });
  await untilAtRest(again, sandbox);
  expect(statusOf(path).epoch).toBe(epoch);
  expect(
    inboxRows(
      path,
      `SELECT 1 FROM inbox WHERE kind = 'delivery' AND CAST(body AS TEXT) NOT LIKE '%"proof-%'`,
    ),
  ).toHaveLength(2);
});
