/** With a retention time, the file stops growing: a slice of `npm run growth`. */
import { expect, test } from 'vitest';
import { grow, type Plan } from '../../scripts/growth/grow.ts';
import { newPath } from '../mirror/mirror-file.ts';

/** A flood is followed as soon as the log has grown beyond this. */
const FLOOD_WAL_BYTES = 64 << 20;

const plan = (over: Partial<Plan>): Plan => ({
  path: newPath(),
  days: 9,
  deliveriesPerDay: 240,
  retentionDays: 2,
  prunesPerDay: 4,
  levels: 500,
  seed: 1,
  ...over,
});

test('file and log stay as large as what the retention time keeps', async () => {
  const { days, lastThird, longestWalBytes } = await grow(plan({}), () => undefined);
  expect(lastThird).toBeLessThan(0.03);
  expect(longestWalBytes).toBeLessThan(FLOOD_WAL_BYTES);
  // What came in two days, and in the quarter of a day that ended when they began; and as many prunings, an entry each.
  const kept = days.slice(3).map(({ logEntries }) => logEntries);
  expect(kept).toEqual(kept.map(() => 2 * 240 + 60 + 9));
});

test('without it they grow, and that is seen', async () => {
  const { lastThird } = await grow(plan({ retentionDays: 30 }), () => undefined);
  expect(lastThird).toBeGreaterThan(0.2);
});
