import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { present } from '../../shared/present.ts';
import {
  compareWithTruth,
  eventually,
  plainVariants,
  qtyOf,
  rows,
  startBoth,
  startMirror,
  statusOf,
  untilDelivered,
  untilLive,
  untilNone,
  untilRunEnds,
} from '../harness.ts';

/** Reads wait until released, so that no check comes too late. */
function holdReads({ reads }: Sandbox) {
  const released = Promise.withResolvers<undefined>();
  reads.intercept = () => released.promise;
  return { release: () => released.resolve(undefined) };
}

test.concurrent('marks every row suspect after downtime until it is read', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 30 });
  await mirror.stop();
  sandbox.webhookUrl = null;

  const changed = plainVariants(sandbox, 4);
  for (const level of changed.slice(0, 3)) sandbox.operations.add({ ...level, by: 11 });
  const { product: created } = sandbox.operations.createProduct({ name: 'made while away' });
  sandbox.operations.createVariant(present(changed[0]).productId);
  const deleted = present(changed[3]);
  sandbox.operations.deleteProduct(deleted.productId);

  const gate = holdReads(sandbox);
  const again = await startMirror(t, sandbox, { folder: dirname(mirror.databasePath) });
  await eventually(() => statusOf(again.databasePath).state !== 'stale', { what: 'a heartbeat' });
  for (const view of ['mirror_stock', 'mirror_variants']) {
    expect(rows(again.databasePath, `SELECT * FROM ${view} WHERE suspect = 0`)).toEqual([]);
  }
  gate.release();
  sandbox.operations.add({ ...present(changed[1]), by: 1 });
  await untilDelivered(again, sandbox);
  expect(sandbox.deliveries.records.at(-1)).toMatchObject({ outcome: 'answered', status: 204 });

  await untilLive(again);
  // Only a second read, 30 s later, removes the deleted product.
  await untilNone(
    () =>
      compareWithTruth(again.databasePath, sandbox).filter(
        (line) => !line.includes(deleted.productId) || !line.includes('the store has none'),
      ),
    { what: 'equal but for the deleted product' },
  );
  expect(
    rows(
      again.databasePath,
      'SELECT missing_at_ms > 0 AS missing FROM products WHERE product_id = ?',
      deleted.productId,
    ),
  ).toEqual([{ missing: 1 }]);
  expect(qtyOf(again.databasePath, deleted)).not.toBeNull();
  expect(
    rows(again.databasePath, 'SELECT 1 FROM mirror_products WHERE product_id = ?', created.id),
  ).toHaveLength(1);
  expect(await untilRunEnds(again, 2)).toMatchObject({ kind: 'downtime', state: 'done' });
  await eventually(
    () => {
      const suspects = rows(
        again.databasePath,
        'SELECT DISTINCT product_id FROM mirror_stock WHERE suspect = 1 AND product_id <> ?',
        deleted.productId,
      );
      return suspects.length === 0;
    },
    { what: 'only the deleted product is suspect' },
  );
});

test.concurrent('repairs the losses of a suspended process', async (t) => {
  const { sandbox, mirror } = await startBoth(t);
  mirror.signal('SIGSTOP');
  const stoppedMs = performance.now();
  sandbox.webhookUrl = null;
  const [level] = plainVariants(sandbox, 1);
  sandbox.operations.add({ ...level, by: 11 });
  await eventually(() => performance.now() > stoppedMs + 2_500, { what: 'a silence' });
  const gate = holdReads(sandbox);
  mirror.signal('SIGCONT');
  await eventually(() => statusOf(mirror.databasePath).state === 'catching_up', {
    what: 'the downtime is noticed',
  });
  gate.release();
  await untilLive(mirror);
  expect(compareWithTruth(mirror.databasePath, sandbox)).toEqual([]);
});
