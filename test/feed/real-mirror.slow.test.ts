/** The client follows a real mirror that is killed, restored, pruned and restarted. */
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { follow, type Batch, type Position, type RowKey, type SellableRow } from '../../src/feed.ts';
import { freePort } from '../cli/harness.ts';
import { startLoad } from '../process/load.ts';
import {
  eventually,
  plainVariants,
  resync,
  rows,
  startMirror,
  startService,
  temporaryFolder,
  untilLive,
  untilQuiet,
  type Owner,
} from '../process/harness.ts';

const keyOf = ({ variant_id: variantId, warehouse_id: warehouseId }: RowKey): string =>
  `${variantId}:${warehouseId ?? ''}`;

/** A copy as a program would keep it, in memory. */
class Copy {
  readonly rows = new Map<string, SellableRow>();
  readonly starts: string[] = [];
  position: Position | null = null;
  moved = 0;
  #following: { readonly aborting: AbortController; readonly ended: Promise<void> } | null = null;

  constructor(test: Owner) {
    test.onTestFinished(() => this.stop());
  }

  start(url: string, transport: 'stream' | 'poll' = 'stream'): void {
    const aborting = new AbortController();
    const { signal } = aborting;
    const options = {
      url,
      position: this.position,
      signal,
      transport,
      waitSeconds: 1,
      onProblem: () => undefined,
    };
    const ended = (async () => {
      for await (const batch of follow(options)) this.#apply(batch);
    })();
    this.#following = { aborting, ended };
  }

  async stop(): Promise<void> {
    this.#following?.aborting.abort();
    await this.#following?.ended;
  }

  #apply(batch: Batch): void {
    this.position = batch.position ?? this.position;
    if (batch.kind === 'trust') {
      this.#trust(batch.trust);
      return;
    }
    if (batch.kind === 'snapshot' && batch.isFirst) {
      this.starts.push(batch.why);
      this.rows.clear();
    }
    if (batch.kind === 'changes') this.moved += batch.changes.length;
    for (const key of batch.removed) this.rows.delete(keyOf(key));
    for (const row of batch.rows) this.rows.set(keyOf(row), row);
  }

  #trust({ untrusted, cause }: Extract<Batch, { kind: 'trust' }>['trust']): void {
    const why = new Map(untrusted?.map((row) => [keyOf(row), row.why_not]));
    for (const [key, row] of this.rows) {
      const whyNot = untrusted === null ? (cause ?? 'unknown') : (why.get(key) ?? null);
      this.rows.set(key, { ...row, trusted: whyNot === null ? 1 : 0, why_not: whyNot });
    }
  }
}

const COLUMNS = ['variant_id', 'warehouse_id', 'available_qty', 'trusted'] as const;

function shown(found: Iterable<Pick<SellableRow, (typeof COLUMNS)[number]>>): string[] {
  return [...found].map((row) => COLUMNS.map((name) => String(row[name])).join(' ')).sort();
}

test.concurrent.for(['stream', 'poll'] as const)(
  'a copy by %s equals mirror_sellable in quantity and trust through a kill, a restore and pruning',
  async (transport, t) => {
    const sandbox = await startService(t, { products: 60 });
    const OPS_PORT = String(await freePort());
    const folder = temporaryFolder(t);
    const mirrorAgain = () => startMirror(t, sandbox, { folder, env: { OPS_PORT } });
    const url = `http://127.0.0.1:${OPS_PORT}`;
    const copy = new Copy(t);
    copy.start(url, transport);
    let mirror = await mirrorAgain();
    const path = mirror.databasePath;
    const untilEqual = (what: string): Promise<boolean> =>
      eventually(
        () => {
          const now = shown(rows(path, `SELECT ${COLUMNS.join(', ')} FROM mirror_sellable`));
          expect(shown(copy.rows.values())).toEqual(now);
          return now.length > 60;
        },
        { what },
      );
    const [one, two] = plainVariants(sandbox, 2);
    // A webhook proves the way in.
    sandbox.operations.add({ ...one, by: 1 });
    await untilLive(mirror);
    await untilEqual('the first copy');
    expect(copy.starts).toEqual(['first']);

    const load = startLoad(t, sandbox, 50);
    await eventually(() => copy.moved > 100, { what: 'changes' });
    await mirror.kill();
    mirror = await mirrorAgain();
    const moved = copy.moved;
    await eventually(() => copy.moved > moved + 50, { what: 'changes after the kill' });
    load.stop();
    sandbox.operations.deleteProduct(two.productId);
    await resync(mirror, { product_ids: [two.productId] });
    await untilQuiet(mirror, sandbox);
    await untilEqual('equal after the kill');
    expect(copy.starts).toEqual(['first']);

    // Restored without its mirror's file.
    await mirror.stop();
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
    mirror = await mirrorAgain();
    sandbox.operations.add({ ...one, by: 1 });
    await untilLive(mirror);
    await untilQuiet(mirror, sandbox);
    await untilEqual('equal in the new epoch');
    expect(copy.starts).toEqual(['first', 'epoch_changed']);

    // Away for longer than the changes are kept.
    await copy.stop();
    sandbox.operations.add({ ...one, by: 5 });
    await untilQuiet(mirror, sandbox);
    await mirror.stop();
    const file = new Database(path);
    file.exec('UPDATE changes SET recorded_at_ms = 0');
    file.close();
    mirror = await mirrorAgain();
    const isPruned = (): boolean => rows(path, 'SELECT 1 FROM mirror_changes').length === 0;
    await eventually(isPruned, { what: 'its old changes are pruned' });
    copy.start(url, transport);
    await untilQuiet(mirror, sandbox);
    await untilEqual('equal after pruning');
    expect(copy.starts).toEqual(['first', 'epoch_changed', 'pruned']);

    await copy.stop();
    copy.position = { epoch: copy.position?.epoch ?? '', seq: 1_000_000_000 };
    copy.start(url, transport);
    await eventually(() => copy.starts.at(-1) === 'ahead', { what: 'it starts over' });
    await untilEqual('equal at the end');
    expect(mirror.opsUrl).toBe(url);
    expect(dirname(path)).toBe(folder);
  },
);
