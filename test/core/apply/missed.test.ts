import { expect, test } from 'vitest';
import { UnitOfWork } from '../../../src/core/apply/unit-of-work.ts';
import { MISSED_WHYS } from '../../../src/core/input.ts';
import { REPLICA_LAG_MS } from '../../../src/core/limits.ts';
import { kinds, Mirror, missedAt, mirrorAfterRead, T0 } from '../builders.ts';

const AT = T0 + 60_000;

test.each(MISSED_WHYS)(
  'deliveries missed because of %s, of unknown variants, make everything suspect',
  (why) => {
    const mirror = mirrorAfterRead();
    const facts = mirror.applyInput({ ...missedAt(AT), why });
    expect(mirror.tables.state().trustedAfterMs).toBe(AT + REPLICA_LAG_MS);
    expect(kinds(facts)).toEqual([]);
    expect(mirror.reason()).toBe(null);
  },
);

test('deliveries that were not stored and named no variant make everything suspect', () => {
  const mirror = mirrorAfterRead();
  mirror.applyInput({ ...missedAt(AT), why: 'not_stored', variantIds: [] });
  expect(mirror.tables.state().trustedAfterMs).toBe(AT + REPLICA_LAG_MS);
});

test('rejects an input that would lower the barrier', () => {
  const mirror = new Mirror();
  mirror.applyInput(missedAt(AT));
  const work = new UnitOfWork(mirror.tables, missedAt(AT), () => undefined);
  work.state = { ...work.state, trustedAfterMs: AT };
  expect(() => work.close()).toThrow(`the barrier never falls: ${AT + REPLICA_LAG_MS} to ${AT}`);
});
