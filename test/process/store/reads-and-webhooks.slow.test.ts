/** The two ways a value travels overtake one another; the mirror never goes back in time. */
import { expect, test } from 'vitest';
import { present } from '../../shared/present.ts';
import {
  compareWithTruth,
  eventually,
  plainVariants,
  qtyOf,
  resync,
  startBoth,
  throughout,
  untilDelivered,
  untilQuiet,
} from '../harness.ts';

test.concurrent(
  'an answer sampled before a webhook and delivered after it does not overwrite it',
  async (t) => {
    const { sandbox, mirror } = await startBoth(t);
    const [level] = plainVariants(sandbox, 1);
    const before = present(qtyOf(mirror.databasePath, level));
    const read = sandbox.reads.holdNext(level.productId);
    const run = resync(mirror, { product_ids: [level.productId] });
    await read.sampled;

    sandbox.operations.add({ ...level, by: 6 });
    await untilDelivered(mirror, sandbox);
    expect(qtyOf(mirror.databasePath, level)).toBe(before + 6);
    read.release();
    // The answer is merged, found to differ, and read again after it can no longer be behind.
    let seen = 0;
    const watch = throughout(3_500, () => {
      seen += 1;
      expect(qtyOf(mirror.databasePath, level)).toBe(before + 6);
    });
    await Promise.all([run, watch]);
    expect(seen).toBeGreaterThan(20);
    await untilQuiet(mirror, sandbox);
    expect(compareWithTruth(mirror.databasePath, sandbox)).toEqual([]);
  },
);

test.concurrent(
  'a webhook that comes after a read that saw more than it tells does not undo the read',
  async (t) => {
    const { sandbox, mirror } = await startBoth(t);
    const [level] = plainVariants(sandbox, 1);
    const before = present(qtyOf(mirror.databasePath, level));
    const held = sandbox.network.hold();
    sandbox.operations.add({ ...level, by: 6 });
    sandbox.operations.add({ ...level, by: 10 });
    const changedMs = Date.now();
    // Long enough before the read that the read certainly saw both.
    await eventually(() => Date.now() > changedMs + 3_000, { what: 'the changes are past' });
    await resync(mirror, { product_ids: [level.productId] });
    expect(qtyOf(mirror.databasePath, level)).toBe(before + 16);

    let isOver = false;
    const watch = (async () => {
      while (!isOver) await throughout(50, () => expect(qtyOf(mirror.databasePath, level)).toBe(before + 16));
    })();
    await held.release();
    await untilQuiet(mirror, sandbox);
    isOver = true;
    await watch;
    expect(compareWithTruth(mirror.databasePath, sandbox)).toEqual([]);
  },
);
