/** What an operator asks of a copy of one primary is refused there, whatever is under way. */
import { expect, test } from 'vitest';
import { operatorOf } from '../../src/app/shared-operator.ts';
import { beginCatalogueRun } from '../../src/reconcile/runs.ts';
import { NOBODY } from '../../src/replication/presence.ts';
import { log, newStore } from '../reconcile/mirror.ts';

test.each([
  ['no run is under way', false],
  ['a run of the primary is under way, which came with its entries', true],
])('it names the primary, also while %s', async (_what, isUnderWay) => {
  const store = newStore();
  const now = () => 1_000;
  if (isUnderWay) await beginCatalogueRun({ store, now, log }, 'operator');
  const { lastSeq } = store.writer;
  const operator = operatorOf({
    store,
    engine: null,
    origin: 'https://primary:8788',
    now,
    log,
    reconciler: () => null,
    members: () => NOBODY,
  });
  for (const productIds of [null, ['1']]) {
    const asked = operator.resync(productIds, { allowRemovals: false });
    await expect(asked).rejects.toMatchObject({ kind: 'is_copy' });
    await expect(asked).rejects.toThrow('a copy of https://primary:8788');
  }
  expect(store.writer.lastSeq).toBe(lastSeq);
});
