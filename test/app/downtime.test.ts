import { expect, test } from 'vitest';
import { missedSince } from '../../src/app/downtime.ts';

const BOOTED = 1_000;
const ALIVE = 5_000;
const last = { aliveAtMs: ALIVE, missedSinceMs: null, isInherited: false, bootedAtMs: BOOTED };

test.each([
  { when: 'the port was closed, however briefly', over: {}, since: ALIVE },
  { when: 'there was no run before', over: { aliveAtMs: null }, since: 0 },
  { when: 'the socket was passed in', over: { isInherited: true }, since: null },
  {
    when: 'the socket was passed in, without a run before',
    over: { isInherited: true, aliveAtMs: null },
    since: 0,
  },
  {
    when: 'the socket was passed in, and the machine was started since',
    over: { isInherited: true, bootedAtMs: ALIVE + 1 },
    since: ALIVE,
  },
  { when: 'the run before had noted a downtime', over: { missedSinceMs: 2_000 }, since: 2_000 },
  {
    when: 'the run before had noted a downtime, and the socket was passed in',
    over: { isInherited: true, missedSinceMs: 2_000 },
    since: 2_000,
  },
  { when: 'a first run ended before the mirror knew of anything', over: { missedSinceMs: 0 }, since: 0 },
])('deliveries may be missing since $since when $when', ({ over, since }) => {
  expect(missedSince({ ...last, ...over })).toBe(since);
});
