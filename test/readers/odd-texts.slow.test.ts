/** Every copy follows a mirror with odd texts and numbers at the limits, for ODD_SECONDS (10). */
import { expect, test } from 'vitest';
import { isInstalled as hasPostgres, startPostgres } from '../examples/postgres.ts';
import { eventually, resync, rows, startBoth, statusOf, untilQuiet } from '../process/harness.ts';
import { freePort } from '../shared/free-port.ts';
import { present } from '../shared/present.ts';
import { linesOf, SELLABLE, withoutNul, type Follower, type Shown } from './follower.ts';
import { ODD_NUMBERS, ODD_TEXTS } from './odd-texts.ts';
import { PostgresCopy } from './postgres-copy.ts';
import { EXTENSIONS, isInstalled, Program } from './program.ts';

const SECONDS = Number(process.env['ODD_SECONDS'] ?? 10);
const LEVELS = 18;
const PER_SECOND = 8;
const CHANGES = `
  SELECT seq, variant_id, warehouse_id, new_qty, reason, order_id
  FROM mirror_changes
  WHERE seq > ?
  ORDER BY seq`;

const WITHOUT = hasPostgres ? '' : ' (without PostgreSQL: not installed here)';

test(`copies odd texts and numbers${WITHOUT}`, { timeout: SECONDS * 1_000 + 300_000 }, async (t) => {
  const OPS_PORT = String(await freePort());
  const { sandbox, mirror } = await startBoth(t, { products: 60 }, { env: { OPS_PORT } });
  const path = mirror.databasePath;
  const place = { url: mirror.opsUrl, path };
  const followers: Follower[] = EXTENSIONS.filter(isInstalled).map((name) => new Program(t, name, place));
  const postgres = hasPostgres ? await startPostgres(t) : null;
  if (postgres !== null) followers.push(new PostgresCopy(t, postgres, place));
  for (const each of followers) each.start();
  for (const each of followers) {
    await eventually(() => each.starts() === 1, { what: `${each.name}: the first copy` });
  }
  const { last_seq: began } = statusOf(path);

  // With one level, because a total must stay within the limits too.
  const variants = sandbox.truth.variants
    .filter(
      ({ kind, levels, bundledBy, deleted }) =>
        kind === 'own' && levels.length === 1 && bundledBy.size === 0 && !deleted,
    )
    .slice(0, LEVELS);
  const targets = variants.map(({ id, levels }) => ({
    variantId: id,
    warehouseId: present(levels[0]).warehouseId,
  }));
  expect(targets).toHaveLength(LEVELS);
  const productIds = [...new Set(variants.map(({ product }) => product.id))];
  const rename = (round: number): void => {
    for (const [index, variant] of variants.entries()) {
      sandbox.truth.edit(variant.product, () => {
        variant.sku = present(ODD_TEXTS[(round + index) % ODD_TEXTS.length]);
      });
      sandbox.operations.renameProduct(
        variant.product.id,
        present(ODD_TEXTS[(round + index + 1) % ODD_TEXTS.length]),
      );
    }
  };
  const change = (step: number): void => {
    const target = present(targets[step % LEVELS]);
    const text = present(ODD_TEXTS[step % ODD_TEXTS.length]);
    if (step % 3 === 0)
      sandbox.operations.adjust({ ...target, to: present(ODD_NUMBERS[step % ODD_NUMBERS.length]) });
    else if (step % 3 === 1) sandbox.operations.add({ ...target, by: -1, reason: text });
    else sandbox.operations.add({ ...target, by: 1, reason: 'order_edited', orderId: text });
  };

  sandbox.network.concurrency = 32;
  let resyncs = Promise.resolve<unknown>(null);
  const startedMs = performance.now();
  for (let step = 0; performance.now() - startedMs < SECONDS * 1_000; step += 1) {
    if (step % (PER_SECOND * 4) === 0) {
      rename(step);
      await resyncs;
      resyncs = resync(mirror, { product_ids: productIds });
    }
    change(step);
    await new Promise((resolve) => setTimeout(resolve, 1_000 / PER_SECOND));
  }
  await resyncs;
  await untilQuiet(mirror, sandbox);
  await resync(mirror, { product_ids: productIds });
  // The names of a copy are as of the last change.
  for (const target of targets) sandbox.operations.adjust({ ...target, to: 7 });
  for (const target of targets) sandbox.operations.add({ ...target, by: 1 });
  await untilQuiet(mirror, sandbox);

  const changes = rows<{ readonly variant_id: string }>(path, CHANGES, began);
  const levelsChanged = new Set(changes.map(({ variant_id: id }) => id));
  expect(levelsChanged.size).toBe(LEVELS);
  // Names of the other variants of a renamed product do not change with these.
  const isTarget = ({ variant_id: id }: Shown): boolean => levelsChanged.has(id);
  const now = rows<Shown>(path, `SELECT ${SELLABLE} FROM mirror_sellable`);
  for (const each of followers) {
    await eventually(
      async () => {
        expect(linesOf((await each.sellable()).filter(isTarget))).toEqual(linesOf(now.filter(isTarget)));
        return true;
      },
      { what: `${each.name} equals the mirror` },
    );
    expect(each.starts(), each.name).toBe(1);
  }
  let copied: unknown[] = [];
  if (postgres !== null) {
    copied = await postgres.query(
      `SELECT seq::int, variant_id, warehouse_id, new_qty::float8, reason, order_id
         FROM stock_changes
         WHERE seq > ${began}
         ORDER BY id`,
    );
    expect(copied).toEqual(JSON.parse(withoutNul(JSON.stringify(changes))));
    expect(await postgres.query('SELECT * FROM stock_set_aside')).toEqual([]);
  }

  const counts = {
    seconds: SECONDS,
    changes: changes.length,
    inPostgres: copied.length,
  };
  process.stdout.write(`${JSON.stringify(counts)}\n`);
});
