import { expect, test } from 'vitest';
import { nanosOf, verdictOn, type StreamState } from '../../../src/replication/nats/history.ts';
import { noteWith } from '../../../src/replication/nats/snapshot-note.ts';

const CREATED = '100';
const BASE = {
  seq: 10,
  storedAt: '1000',
  after: { epoch: 'before', lastSeq: 7, againFrom: '0', rules: 3 },
};
const STATE: StreamState = {
  created: CREATED,
  firstSeq: 10,
  lastSeq: 30,
  base: BASE,
  storedAt: '2000',
  hasLeader: true,
};
const CURSOR = { created: CREATED, seq: 20, storedAt: '2000', baseAt: '1000' };
const STANDING = { epoch: 'now', lastSeq: 17, cursor: CURSOR };

test.each([
  { what: 'a log that the stream goes on from', standing: STANDING, state: STATE, type: 'after' },
  {
    what: 'a history of earlier rules',
    standing: STANDING,
    state: { ...STATE, base: { ...BASE, after: { ...BASE.after, rules: 2 } } },
    type: 'earlier_rules',
  },
  {
    what: 'a history of later rules',
    standing: STANDING,
    state: { ...STATE, base: { ...BASE, after: { ...BASE.after, rules: 4 } } },
    type: 'later_rules',
  },
  { what: 'a stream without a history', standing: STANDING, state: { ...STATE, base: null }, type: 'none' },
  {
    what: 'another message in its place',
    standing: STANDING,
    state: { ...STATE, storedAt: '2001' },
    type: 'lost',
  },
  {
    what: 'a stream that ends before',
    standing: STANDING,
    state: { ...STATE, lastSeq: 19, storedAt: null },
    type: 'lost',
  },
  {
    what: 'a stream that was made again, from an old copy',
    standing: STANDING,
    state: { ...STATE, created: '101' },
    type: 'lost',
  },
  {
    what: 'a stream without the message, which may be in a snapshot',
    standing: STANDING,
    state: { ...STATE, storedAt: null },
    type: 'other',
  },
  {
    what: 'a newer history from elsewhere',
    standing: STANDING,
    state: {
      ...STATE,
      base: { seq: 25, storedAt: '2500', after: { epoch: 'now', lastSeq: 16, againFrom: '0', rules: 3 } },
    },
    type: 'other',
  },
  {
    what: 'a newer history from exactly there',
    standing: STANDING,
    state: {
      ...STATE,
      base: { seq: 25, storedAt: '2500', after: { epoch: 'now', lastSeq: 17, againFrom: '0', rules: 3 } },
    },
    type: 'base',
  },
  {
    what: 'a log that never copied, and is where the history began',
    standing: { epoch: 'before', lastSeq: 7, cursor: null },
    state: STATE,
    type: 'base',
  },
  {
    what: 'a log that never copied',
    standing: { epoch: 'before', lastSeq: 8, cursor: null },
    state: STATE,
    type: 'other',
  },
  {
    what: 'an empty log, and a history that begins with nothing',
    standing: { epoch: 'any', lastSeq: 0, cursor: null },
    state: {
      ...STATE,
      base: { seq: 10, storedAt: '1', after: { epoch: 'x', lastSeq: 0, againFrom: '0', rules: 3 } },
    },
    type: 'base',
  },
  {
    what: 'an empty log, and a history that begins with something',
    standing: { epoch: 'before', lastSeq: 0, cursor: null },
    state: STATE,
    type: 'other',
  },
  {
    what: 'a cursor of another version',
    standing: { ...STANDING, cursor: { at: 20 } },
    state: STATE,
    type: 'other',
  },
])('$what: $type', ({ standing, state, type }) => {
  expect(verdictOn(standing, state, 3).type).toBe(type);
});

test('instants are compared to the nanosecond', () => {
  expect(nanosOf('1970-01-01T00:00:01.000000002Z')).toBe('1000000002');
  expect(nanosOf('1970-01-01T00:00:01Z')).toBe('1000000000');
  expect(nanosOf('1970-01-01T01:00:00.5+01:00')).toBe('500000000');
});

test('messages of the last hour, and what the snapshot before needs, are kept', () => {
  const HOUR = 3_600_000;
  const history = { created: CREATED, baseAt: '1000' };
  const snapshot = (seq: number) => ({ id: `s${seq}`, epoch: 'e', lastSeq: seq, seq });
  const first = noteWith(null, snapshot(5), { ...history, nowMs: 0 });
  expect(first).toMatchObject({ newest: { seq: 5 }, previous: null, floor: 0 });
  const soon = noteWith(first, snapshot(6), { ...history, nowMs: HOUR / 2 });
  expect(soon).toMatchObject({ previous: { seq: 5 }, floor: 0 });
  const later = noteWith(soon, snapshot(7), { ...history, nowMs: HOUR });
  expect(later).toMatchObject({ newest: { seq: 7 }, previous: { seq: 6 }, floor: 5 });
  const muchLater = noteWith(later, snapshot(8), { ...history, nowMs: 9 * HOUR });
  expect(muchLater).toMatchObject({ floor: 7, marks: [{ seq: 7 }, { seq: 8 }] });
  const another = noteWith(muchLater, snapshot(2), { ...history, baseAt: '3000', nowMs: 10 * HOUR });
  expect(another).toMatchObject({ previous: null, floor: 0, marks: [{ seq: 2 }] });
});
