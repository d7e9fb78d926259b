/** Every client keeps a copy of one mirror that is killed, restored, emptied and pruned. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { backupDatabase, restoreDatabase } from '../../src/mirror/file/backup.ts';
import { isInstalled as hasPostgres, startPostgres } from '../examples/postgres.ts';
import { startLoad } from '../process/load.ts';
import {
  eventually,
  MIRROR_FILE,
  plainVariants,
  resync,
  rows,
  startMirror,
  startService,
  statusOf,
  temporaryFolder,
  untilLive,
  untilQuiet,
  type Owner,
} from '../process/harness.ts';
import { freePort } from '../shared/free-port.ts';
import { linesOf, SELLABLE, type Follower, type Place, type Shown } from './follower.ts';
import { MemoryCopy } from './memory-copy.ts';
import { PostgresCopy } from './postgres-copy.ts';
import { EXTENSIONS, isInstalled, Program } from './program.ts';

const missing = [
  ...EXTENSIONS.filter((extension) => !isInstalled(extension)),
  ...(hasPostgres ? [] : ['postgresql']),
];
const WITHOUT = missing.length === 0 ? '' : ` (without ${missing.join(', ')} here)`;

async function followersOf(test: Owner, place: Place): Promise<Follower[]> {
  const followers: Follower[] = [
    new MemoryCopy(test, place),
    ...EXTENSIONS.filter(isInstalled).map((extension) => new Program(test, extension, place)),
  ];
  if (hasPostgres) {
    followers.push(new PostgresCopy(test, await startPostgres(test), place));
  }
  return followers;
}

/** The store's answer to every read. */
const unavailable = () => Promise.resolve({ status: 500, body: {} });

test(
  `each copy equals mirror_sellable in quantity and trust through a kill, a restore and pruning${WITHOUT}`,
  { timeout: 600_000 },
  async (t) => {
    const sandbox = await startService(t, { products: 60 });
    const OPS_PORT = String(await freePort());
    // Characters with a meaning in URIs.
    const folder = join(temporaryFolder(t), `it's 100% a #1?`);
    mkdirSync(folder);
    const path = join(folder, MIRROR_FILE);
    const startAgain = () => startMirror(t, sandbox, { folder, env: { OPS_PORT } });
    const followers = await followersOf(t, { url: `http://127.0.0.1:${OPS_PORT}`, path });

    const untilEach = async (what: string, isIt: (each: Follower) => boolean | Promise<boolean>) => {
      for (const each of followers) {
        await eventually(() => isIt(each), { what }).catch((error: unknown) => {
          throw new Error(`${each.name}: ${String(error)}\n${each.problems.slice(-2_000)}`, { cause: error });
        });
      }
    };
    const truth = (): string[] => linesOf(rows<Shown>(path, `SELECT ${SELLABLE} FROM mirror_sellable`));
    const untilEqual = async (what: string): Promise<void> => {
      await untilEach(what, async (each) => {
        const now = truth();
        expect(linesOf(await each.sellable())).toEqual(now);
        return now.length > 60;
      });
    };
    const untilNoneTrusted = () =>
      untilEach('trusts no row', async (each) =>
        (await each.sellable()).every(({ trusted }) => Number(trusted) === 0),
      );
    const quantitiesOf = async (each: Follower) =>
      (await each.sellable())
        .map(({ variant_id: id, warehouse_id: at, available_qty: qty }) => `${id} ${at} ${qty}`)
        .sort();
    const startsOf = (): Record<string, number> =>
      Object.fromEntries(followers.map((each) => [each.name, each.starts()]));
    const startAll = (): void => followers.forEach((each) => each.start());
    const killAll = () => Promise.all(followers.map((each) => each.kill()));

    startAll();
    await untilEach('waits for the mirror', (each) => each.waits);
    let mirror = await startAgain();
    const [one, two, three] = plainVariants(sandbox, 3);
    await untilLive(mirror);
    await untilEqual('the first copy');
    const once = startsOf();
    expect(new Set(Object.values(once))).toEqual(new Set([1]));

    // Kills of the mirror and of the programs, under load.
    const load = startLoad(t, sandbox, 50);
    const before = statusOf(path).last_seq;
    await untilEach('follows', async (each) => (await each.seq()) > before);
    await mirror.kill();
    await killAll();
    startAll();
    mirror = await startAgain();
    const after = statusOf(path).last_seq;
    await untilEach('follows after the kill', async (each) => (await each.seq()) > after);
    load.stop();
    sandbox.operations.deleteProduct(two.productId);
    await resync(mirror, { product_ids: [two.productId] });
    await untilQuiet(mirror, sandbox);
    await untilEqual('equal after the kill');
    expect(startsOf()).toEqual(once);

    // A row that is not trusted, because its product cannot be read.
    sandbox.reads.intercept = (_, { product_id: id }) =>
      Promise.resolve(id === three.productId ? { status: 500, body: {} } : undefined);
    sandbox.network.loseNext(1);
    sandbox.operations.add({ ...three, by: 1 });
    sandbox.operations.add({ ...three, by: 1 });
    const untrusted = () => truth().filter((line) => !line.endsWith(' trusted'));
    await eventually(() => untrusted().some((line) => line.startsWith(three.variantId)), {
      what: 'a row that is not trusted',
    });
    await untilEqual('equal with a row that is not trusted');
    sandbox.reads.intercept = null;
    await resync(mirror, { product_ids: [three.productId] });
    await untilQuiet(mirror, sandbox);
    await untilEqual('equal when it is trusted again');
    // If a webhook has named the deleted variant since it was last read, the catalogue is searched for it.
    expect(untrusted().filter((line) => !line.startsWith(two.variantId))).toEqual([]);

    // While the mirror is away, no row is trusted.
    const backup = join(temporaryFolder(t), 'backup.db');
    const copying = { onProgress: () => undefined, interrupted: new AbortController().signal };
    await backupDatabase(path, backup, { ...copying, force: false });
    sandbox.operations.add({ ...one, by: 11 });
    await untilQuiet(mirror, sandbox);
    await untilEqual('equal before the restore');
    await mirror.stop();
    for (const each of followers) await each.age?.();
    await untilNoneTrusted();

    // A backup is restored.
    sandbox.operations.add({ ...one, by: -11 });
    await restoreDatabase(backup, path, copying);
    mirror = await startAgain();
    sandbox.operations.add({ ...one, by: 1 });
    await untilLive(mirror);
    await untilQuiet(mirror, sandbox);
    await untilEqual('equal after the restore');
    const restored = startsOf();
    for (const { name } of followers) expect(restored[name], name).toBeGreaterThan(1);

    // The mirror has lost its file, and cannot read the store yet: the copies keep their rows.
    await mirror.stop();
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
    sandbox.reads.intercept = unavailable;
    const kept = await Promise.all(followers.map(quantitiesOf));
    await killAll();
    startAll();
    mirror = await startAgain();
    await untilEach('waits for the whole store', (each) => each.waits);
    await untilNoneTrusted();
    expect(await Promise.all(followers.map(quantitiesOf))).toEqual(kept);
    sandbox.reads.intercept = null;
    await resync(mirror);
    sandbox.operations.add({ ...one, by: 1 });
    await untilLive(mirror);
    await untilQuiet(mirror, sandbox);
    await untilEqual('equal in the new epoch');
    const renewed = startsOf();
    for (const { name } of followers) expect(renewed[name], name).toBeGreaterThan(restored[name] ?? 0);

    // The programs are away for longer than the changes are kept.
    await killAll();
    sandbox.operations.add({ ...one, by: 5 });
    sandbox.operations.deleteProduct(three.productId);
    await resync(mirror, { product_ids: [three.productId] });
    await untilQuiet(mirror, sandbox);
    await mirror.stop();
    const old = statusOf(path).last_seq;
    const file = new Database(path);
    file.exec('UPDATE changes SET recorded_at_ms = 0');
    file.close();
    mirror = await startAgain();
    const isPruned = (): boolean =>
      rows(path, 'SELECT 1 FROM mirror_changes WHERE seq <= ?', old).length === 0;
    await eventually(isPruned, { what: 'the changes are pruned' });
    startAll();
    await untilQuiet(mirror, sandbox);
    await untilEqual('equal after pruning');
    const pruned = startsOf();
    for (const { name } of followers) expect(pruned[name], name).toBe((renewed[name] ?? 0) + 1);

    // Older copies of both sides were put in place.
    await killAll();
    for (const each of followers) await each.moveAhead();
    startAll();
    await untilEach('starts over', (each) => each.starts() > (pruned[each.name] ?? 0));
    await untilEqual('equal at the end');
  },
);
