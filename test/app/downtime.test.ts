import { expect, test } from 'vitest';
import { missedSince } from '../../src/app/downtime.ts';

const BOOTED = 1_000;
const ALIVE = 5_000;
const SOCKET = 77;
const last = { aliveAtMs: ALIVE, missedSinceMs: null, keptSocket: null };
interface Now {
  readonly socket?: number;
  readonly bootedAtMs?: number;
}
const kept = { keptSocket: SOCKET };

test.each<[string, object, number | null, Now?]>([
  ['the port was closed, however briefly', {}, ALIVE],
  ['a stop left the socket that is passed in', kept, null, { socket: SOCKET }],
  ['a stop left it, and another one is passed in', kept, ALIVE, { socket: SOCKET + 1 }],
  ['a stop left it, and none is passed in', kept, ALIVE],
  ['the run before did not stop', {}, ALIVE, { socket: SOCKET }],
  ['the machine was started since', kept, ALIVE, { socket: SOCKET, bootedAtMs: ALIVE + 1 }],
  ['there was no run before', { aliveAtMs: null }, 0, { socket: SOCKET }],
  ['the run before had noted a downtime', { missedSinceMs: 2_000 }, 2_000],
  ['it had noted one, and left the socket', { ...kept, missedSinceMs: 2_000 }, 2_000, { socket: SOCKET }],
  ['a first run ended before the mirror knew of anything', { missedSinceMs: 0 }, 0],
])('when %s', (_, over, sinceMs, { socket, bootedAtMs = BOOTED }: Now = {}) => {
  expect(missedSince({ ...last, ...over }, socket ?? null, bootedAtMs)).toBe(sinceMs);
});
