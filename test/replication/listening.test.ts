/** Whether webhooks may have been missed, from what receivers tell of themselves. */
import { expect, test } from 'vitest';
import { listening } from '../../src/replication/listening.ts';
import { T0 } from '../mirror/mirror-file.ts';

type Known = NonNullable<Parameters<typeof listening>[0]>;

/** @param lives by name. */
const look = (lives: Readonly<Record<string, string>>, sinceMs = 0): Parameters<typeof listening>[1] => ({
  receivers: new Map(
    Object.entries(lives).map(([name, life]) => [name, { life, backlog: 0, backlogAgeMs: 0 }]),
  ),
  atMs: T0,
  sinceMs,
});

/** Heard of `agoMs` ago, each as a life that has not ended. */
const known = (lives: Readonly<Record<string, string>>, agoMs = 2_000, isEnded = false): Known => ({
  listenedAtMs: T0 - agoMs,
  receivers: Object.fromEntries(
    Object.entries(lives).map(([name, life]) => [name, { life, seenAtMs: T0 - agoMs, isEnded }]),
  ),
});

test.each([
  ['the same two', known({ a: '1', b: '1' }), { a: '1', b: '1' }, null],
  ['one more beside them', known({ a: '1' }), { a: '1', b: '1' }, null],
  ['one is not heard of for a moment', known({ a: '1', b: '1' }), { a: '1' }, null],
  [
    'one is not heard of for a minute: it had something in hand',
    known({ a: '1', b: '1' }, 60_000),
    { a: '1' },
    0,
  ],
  ['one has begun anew: what it had in hand is lost', known({ a: '1', b: '1' }), { a: '2', b: '1' }, 0],
  ['all have begun anew: nobody listened', known({ a: '1', b: '1' }, 7_000), { a: '2', b: '2' }, 7_000],
  ['the only one has begun anew', known({ a: '1' }, 3_000), { a: '2' }, 3_000],
  ['another one in its place', known({ a: '1' }, 9_000), { b: '1' }, 9_000],
  [
    'all are back after an outage of the engine, and listened all the while',
    known({ a: '1' }, 600_000),
    { a: '1' },
    null,
  ],
  [
    'one that was taken to have ended is back, and was there all the while',
    known({ a: '1', b: '1' }, 2_000, true),
    { a: '1', b: '1' },
    null,
  ],
  ['the clock was set back', known({ a: '1' }, -5_000), { a: '2' }, 60_000],
  ['for the first time', null, { a: '1' }, 0],
] as const)('%s', (_case, before, lives, silentMs) => {
  expect(listening(before, look(lives))?.silentMs).toBe(silentMs);
});

test('while no receiver is heard of nothing is known, and the silence goes on', () => {
  expect(listening(known({ a: '1' }), look({}))).toBeNull();
});

test('who was not heard of while nobody could be has not ended', () => {
  const before = known({ a: '1', b: '1' }, 600_000);
  expect(listening(before, look({ a: '1' }, T0 - 3_000))?.silentMs).toBeNull();
  expect(listening(before, look({ a: '1' }, T0 - 60_000))?.silentMs).toBe(0);
});

test('the first look of all says so', () => {
  expect(listening(null, look({ a: '1' }))?.isFirst).toBe(true);
  expect(listening(known({}), look({ a: '1' }))?.isFirst).toBe(false);
});

test('one that has ended is made up for once', () => {
  const first = listening(known({ a: '1', b: '1' }, 60_000), look({ a: '1' }));
  expect(first?.silentMs).toBe(0);
  expect(listening(first?.known ?? null, { ...look({ a: '1' }), atMs: T0 + 2_000 })?.silentMs).toBeNull();
  // It comes back as another life.
  expect(listening(first?.known ?? null, { ...look({ a: '1', b: '2' }), atMs: T0 + 4_000 })?.silentMs).toBe(
    0,
  );
});

test('one that is long gone is forgotten', () => {
  const week = 7 * 24 * 60 * 60_000;
  const later = listening(known({ a: '1', b: '1' }, week, true), look({ a: '1' }));
  expect(Object.keys(later?.known.receivers ?? {})).toEqual(['a']);
});
