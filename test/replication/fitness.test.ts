/** Who leads, who waits, and who is replaced, where replicas and engine do not have the same. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Fitness } from '../../src/replication/fitness.ts';
import type { ReplicaNote } from '../../src/replication/presence.ts';
import type { Need } from '../../src/replication/transport.ts';

const UP_TO_DATE: ReplicaNote = {
  epoch: 'e',
  lastSeq: 10,
  isUpToDate: true,
  isLeading: false,
  isLost: false,
  rules: 3,
  changeSeq: 0,
  mayLead: true,
  blocked: null,
};
const LOST: ReplicaNote = { ...UP_TO_DATE, isUpToDate: false, isLost: true };

interface Own {
  readonly upToDateAgoMs?: number;
  readonly needs?: readonly [Need, forMs: number];
  readonly lastSeq?: number;
  /** Since so long it hears of the others. */
  readonly hearsForMs?: number;
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'], now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

function fitness(own: Own, others: Readonly<Record<string, ReplicaNote>> = {}): Fitness {
  return new Fitness({
    name: 'b',
    rules: 3,
    members: () => ({ receivers: new Map(), replicas: new Map(Object.entries(others)) }),
    hearsSinceMs: () => performance.now() - (own.hearsForMs ?? 100_000),
    following: () => ({
      upToDateAtMs: own.upToDateAgoMs === undefined ? null : performance.now() - own.upToDateAgoMs,
      need: own.needs === undefined ? null : { kind: own.needs[0], atMs: performance.now() - own.needs[1] },
    }),
    standing: () => ({ epoch: 'e', lastSeq: own.lastSeq ?? 10 }),
  });
}

test.each<{ what: string; own: Own; others?: Readonly<Record<string, ReplicaNote>>; isFit: boolean }>([
  { what: 'it has everything', own: { upToDateAgoMs: 100 }, isFit: true },
  { what: 'it had everything a while ago', own: { upToDateAgoMs: 4_000 }, isFit: false },
  {
    what: 'another has what the engine has lost',
    own: { upToDateAgoMs: 100 },
    others: { a: LOST },
    isFit: false,
  },
  {
    what: 'another has that, and may not lead',
    own: { upToDateAgoMs: 100 },
    others: { a: { ...LOST, mayLead: false } },
    isFit: true,
  },
  {
    what: 'another has that, of an epoch that is over',
    own: { upToDateAgoMs: 100 },
    others: { a: { ...LOST, epoch: 'before' } },
    isFit: true,
  },
  { what: 'the engine has lost what it has', own: { needs: ['history', 7_000] }, isFit: true },
  { what: 'it may only seem so', own: { needs: ['history', 3_000] }, isFit: false },
  {
    what: 'it has not heard of the others yet',
    own: { needs: ['history', 7_000], hearsForMs: 2_000 },
    isFit: false,
  },
  {
    what: 'others follow what is left',
    own: { needs: ['history', 7_000] },
    others: { a: { ...UP_TO_DATE, lastSeq: 12 } },
    isFit: true,
  },
  {
    what: 'another has lost more',
    own: { needs: ['history', 7_000] },
    others: { a: { ...LOST, lastSeq: 11 } },
    isFit: false,
  },
  {
    what: 'another has lost less',
    own: { needs: ['history', 7_000] },
    others: { a: { ...LOST, lastSeq: 9 } },
    isFit: true,
  },
  {
    what: 'another has lost the same, and comes first',
    own: { needs: ['history', 7_000] },
    others: { a: LOST },
    isFit: false,
  },
  {
    what: 'another has lost the same, and comes after',
    own: { needs: ['history', 7_000] },
    others: { c: LOST },
    isFit: true,
  },
  {
    what: 'one that waits for it has higher numbers',
    own: { needs: ['history', 16_000] },
    others: { a: { ...UP_TO_DATE, isUpToDate: false, lastSeq: 12 } },
    isFit: true,
  },
  {
    what: 'others are not updated yet',
    own: { needs: ['other_updates', 100_000] },
    others: { a: { ...UP_TO_DATE, rules: 2 } },
    isFit: false,
  },
  {
    what: 'one that may not lead is not updated yet',
    own: { needs: ['other_updates', 100_000] },
    others: { a: { ...UP_TO_DATE, rules: 2, mayLead: false } },
    isFit: false,
  },
  {
    what: 'the others are updated too, and have less',
    own: { needs: ['other_updates', 7_000] },
    others: { a: { ...UP_TO_DATE, isUpToDate: false, lastSeq: 9 } },
    isFit: true,
  },
  {
    what: 'the others are updated too, and one has more',
    own: { needs: ['other_updates', 7_000] },
    others: { a: { ...UP_TO_DATE, isUpToDate: false, lastSeq: 11 } },
    isFit: false,
  },
  {
    what: 'nobody else is heard of yet',
    own: { needs: ['other_updates', 7_000], hearsForMs: 2_000 },
    isFit: false,
  },
  { what: 'it waits for a snapshot', own: { needs: ['snapshot', 30_000] }, isFit: false },
  { what: 'it waits for a snapshot that never comes', own: { needs: ['snapshot', 61_000] }, isFit: true },
  {
    what: 'it waits in vain, and another has everything',
    own: { needs: ['snapshot', 61_000] },
    others: { a: { ...UP_TO_DATE, epoch: 'next' } },
    isFit: false,
  },
])('it may lead when $what: $isFit', ({ own, others, isFit }) => {
  expect(fitness(own, others).isFit).toBe(isFit);
});

test('one whose entries are lost is replaced once another leads in the next epoch, and not before', () => {
  const leading = { ...UP_TO_DATE, isLeading: true };
  expect(fitness({ needs: ['history', 6_000] }, { a: leading }).needsSnapshot).toBe(false);
  expect(fitness({ needs: ['history', 6_000] }, { a: { ...leading, epoch: 'next' } }).needsSnapshot).toBe(
    true,
  );
  expect(fitness({ needs: ['history', 1_000] }, { a: { ...leading, epoch: 'next' } }).needsSnapshot).toBe(
    false,
  );
  expect(fitness({ needs: ['snapshot', 10] }).needsSnapshot).toBe(true);
});
