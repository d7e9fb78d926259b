/** Removals take two sightings at least 30 s apart, so everything about them happens here side by side. */
import { expect, test } from 'vitest';
import { present } from '../../shared/present.ts';
import { eventually, resync, rows, startBoth, untilEqual } from '../harness.ts';

test.concurrent(
  'a service that suddenly knows nothing does not empty the mirror before an operator allows it',
  async (t) => {
    const { sandbox, mirror } = await startBoth(t, { products: 60 });
    const before = rows(
      mirror.databasePath,
      'SELECT variant_id, warehouse_id, available_qty FROM mirror_stock',
    );
    const noProducts = { request_id: 'r', products: [], total: 0, has_more: false };
    const notFound = { error: 'not_found', error_description: 'no such product' };
    sandbox.reads.intercept = (endpoint) =>
      Promise.resolve(
        endpoint === '/v1/product/list' ? { status: 200, body: noProducts } : { status: 404, body: notFound },
      );
    await resync(mirror);
    await eventually(async () => Number((await mirror.get('/api/status')).body['held_removals']) === 60, {
      what: 'all removals are held',
    });
    expect(
      rows(mirror.databasePath, 'SELECT variant_id, warehouse_id, available_qty FROM mirror_stock'),
    ).toEqual(before);
    // Held, and not read over and over.
    const reads = sandbox.requests['/v1/product/detail'];
    expect((await mirror.get('/api/status')).body['reads_under_way']).toBe(0);

    await resync(mirror, { allow_removals: true });
    await eventually(() => rows(mirror.databasePath, 'SELECT 1 FROM mirror_products').length === 0, {
      what: 'removed',
    });
    expect(rows(mirror.databasePath, 'SELECT 1 FROM mirror_stock')).toEqual([]);
    expect(present(sandbox.requests['/v1/product/detail']) - present(reads)).toBeLessThan(200);

    // The service knows them again: a resync brings them all back.
    sandbox.reads.intercept = null;
    await resync(mirror);
    await untilEqual(mirror, sandbox);
  },
);
