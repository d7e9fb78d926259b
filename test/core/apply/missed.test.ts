import { expect, test } from 'vitest';
import { UnitOfWork } from '../../../src/core/apply/unit-of-work.ts';
import { MISSED_WHYS, type MissedWhy } from '../../../src/core/input.ts';
import { EARLIEST_MS, REPLICA_LAG_MS } from '../../../src/core/limits.ts';
import { change, kinds, Mirror, missedAt, mirrorAfterRead, T0, VARIANT } from '../builders.ts';

const AT = T0 + 60_000;

type Effect = 'everything is suspect' | 'a tick at once';

const EFFECTS: Readonly<Record<MissedWhy, Effect>> = {
  first_start: 'everything is suspect',
  port_closed: 'everything is suspect',
  killed: 'everything is suspect',
  stood_still: 'everything is suspect',
  kept_socket: 'everything is suspect',
  unproven: 'everything is suspect',
  refused: 'everything is suspect',
  not_stored: 'everything is suspect',
  stream_gap: 'everything is suspect',
  cut_off: 'a tick at once',
  turned_away: 'a tick at once',
};

test.each(MISSED_WHYS)('deliveries missed because of %s, of unknown variants', (why) => {
  const mirror = mirrorAfterRead();
  const facts = mirror.applyInput({ ...missedAt(AT), why });
  const isTick = EFFECTS[why] === 'a tick at once';
  expect(mirror.tables.state().trustedAfterMs).toBe(isTick ? EARLIEST_MS : AT + REPLICA_LAG_MS);
  expect(kinds(facts)).toEqual(isTick ? ['loss_suspected'] : []);
  expect(mirror.reason()).toBe(null);
});

test('deliveries that were not stored, of known variants, request reads of these alone', () => {
  const mirror = mirrorAfterRead();
  mirror.applyInput({ ...missedAt(AT), why: 'not_stored', variantIds: [VARIANT, '999'] });
  expect(mirror.reason()).toBe('not_stored');
  expect(mirror.tables.variant('999')?.lookupAtMs).toBe(AT);
  expect(mirror.tables.state().trustedAfterMs).toBe(EARLIEST_MS);
});

test('refused webhooks make everything suspect if they name a variant that a read has shown', () => {
  const mirror = mirrorAfterRead();
  mirror.applyInput({ ...missedAt(AT), why: 'refused', variantIds: ['999'] });
  expect(mirror.tables.variant('999')).toBeUndefined();
  mirror.deliver(AT, change({ variantId: '999', old: 2, new: 1 }));
  mirror.applyInput({ ...missedAt(AT), why: 'refused', variantIds: ['999'] });
  expect(mirror.tables.state().trustedAfterMs).toBe(EARLIEST_MS);
  mirror.applyInput({ ...missedAt(AT), why: 'refused', variantIds: ['999', VARIANT] });
  expect(mirror.tables.state().trustedAfterMs).toBe(AT + REPLICA_LAG_MS);
});

test('refused webhooks that name only a removed variant make nothing suspect', () => {
  const mirror = mirrorAfterRead();
  mirror.remove(T0 + 10_000);
  mirror.applyInput({ ...missedAt(AT), why: 'refused', variantIds: [VARIANT] });
  expect(mirror.tables.state().trustedAfterMs).toBe(EARLIEST_MS);
});

test('deliveries that were not stored and named no variant make everything suspect', () => {
  const mirror = mirrorAfterRead();
  mirror.applyInput({ ...missedAt(AT), why: 'not_stored', variantIds: [] });
  expect(mirror.tables.state().trustedAfterMs).toBe(AT + REPLICA_LAG_MS);
});

test('keeps the barrier if an earlier instant arrives later', () => {
  const mirror = new Mirror();
  mirror.applyInput(missedAt(AT));
  mirror.applyInput(missedAt(AT - 30_000));
  expect(mirror.tables.state().trustedAfterMs).toBe(AT + REPLICA_LAG_MS);
});

test('rejects an input that would lower the barrier', () => {
  const mirror = new Mirror();
  mirror.applyInput(missedAt(AT));
  const work = new UnitOfWork(mirror.tables, missedAt(AT), () => undefined);
  work.state = { ...work.state, trustedAfterMs: AT };
  expect(() => work.close()).toThrow(`the barrier never falls: ${AT + REPLICA_LAG_MS} to ${AT}`);
});
