import { expect, test } from 'vitest';
import { ScheduledReads } from '../../src/reconcile/scheduled-reads.ts';
import type { StoreReader } from '../../src/mirror/reader/store-reader.ts';

const LIVE = new AbortController().signal;

/** A reader's thread that needs so many portions, and chooses two products. */
function setUp(portions: number) {
  const asked: { name: string; args: unknown }[] = [];
  const time = { nowMs: 1_000 };
  let left = portions;
  const reader: StoreReader = {
    ask: (name, ...args) => {
      asked.push({ name, args: args[0] });
      left -= name === 'noteActivity' ? 1 : 0;
      return Promise.resolve((name === 'noteActivity' ? left <= 0 : ['1', '2']) as never);
    },
  };
  const options = { readsPerHour: 600, longestMs: 5_000 };
  return { asked, time, reads: new ScheduledReads({ reader, now: () => time.nowMs, ...options }) };
}

const proved = (productId: string) =>
  ({
    kind: 'gap_proved',
    productId,
    gap: {
      variantId: '1',
      warehouseId: '1',
      openedSeq: 1,
      openedAtMs: 700,
      dueAtMs: 800,
      fromQty: 1,
      toQty: 2,
    },
  }) as const;

test('it takes note of everything, of each proven gap once, and then chooses for the time that has passed', async () => {
  const { asked, time, reads } = setUp(3);
  reads.note(proved('7'));
  reads.note({ kind: 'canary', products: 3 });
  time.nowMs = 61_000;
  expect(await reads.choose(LIVE)).toEqual(['1', '2']);
  expect(asked).toEqual([
    { name: 'noteActivity', args: { nowMs: 61_000, gaps: [{ productId: '7', openedAtMs: 700 }] } },
    { name: 'noteActivity', args: { nowMs: 61_000, gaps: [] } },
    { name: 'noteActivity', args: { nowMs: 61_000, gaps: [] } },
    {
      name: 'planReads',
      args: { nowMs: 61_000, elapsedMs: 60_000, readsPerHour: 600, longestMs: 5_000 },
    },
  ]);
  // Five seconds are worth less than one of 600 reads an hour.
  time.nowMs = 66_000;
  expect(await reads.choose(LIVE)).toEqual([]);
  time.nowMs = 91_000;
  await reads.choose(LIVE);
  expect(asked.at(-1)?.args).toMatchObject({ elapsedMs: 30_000 });
});

test('what is stopped asks nothing more', async () => {
  const { asked, reads } = setUp(9);
  const stop = new AbortController();
  const chosen = reads.choose(stop.signal);
  stop.abort(new Error('stopped'));
  await expect(chosen).rejects.toThrow();
  expect(asked).toHaveLength(1);
});
