/** When deliveries may have been missed (docs/architecture.md#what-may-have-been-missed). */
import { expect, test } from 'vitest';
import {
  Coverage,
  missedBetweenRuns,
  type LastRun,
  type PortOpening,
  type PassedSocket,
} from '../../src/receiver/coverage.ts';
import { present } from '../shared/present.ts';

const BOOT = 'boot-1';
const INODE = 77;
/** Ms since the boot. */
const LAST = 1_000_000;
const WALL = 1_790_000_000_000;

const STOPPED: LastRun = {
  aliveAtMs: WALL,
  sinceBootMs: LAST,
  bootId: BOOT,
  isStopped: true,
  keptSocket: INODE,
  unsureSinceMs: null,
};
const SOCKET: PassedSocket = { inode: INODE, wasQueueFull: false };
const NOW: PortOpening = {
  wallMs: WALL + 900,
  sinceBootMs: LAST + 900,
  monotonicMs: LAST + 900,
  bootId: BOOT,
  passedSocket: SOCKET,
};

test.each<[string, string | null, Partial<LastRun>, Partial<PortOpening>]>([
  ['there was no run', 'first_start', { aliveAtMs: null }, {}],
  ['the run ended without a stop', 'killed', { isStopped: false }, {}],
  ['the run opened the port itself', 'port_closed', { keptSocket: null }, {}],
  ['this run opens the port itself', 'port_closed', {}, { passedSocket: null }],
  ['a passed socket was unserved for a moment', null, {}, {}],
  ['it was unserved for 30 s', null, {}, { sinceBootMs: LAST + 30_000 }],
  ['it was unserved for longer', 'unserved', {}, { sinceBootMs: LAST + 30_001 }],
  ['the wall clock was set meanwhile', null, {}, { wallMs: WALL + 86_400_000 }],
  ['its queue was full', 'unserved', {}, { passedSocket: { ...SOCKET, wasQueueFull: true } }],
  ['another socket is passed', 'unserved', {}, { passedSocket: { ...SOCKET, inode: INODE + 1 } }],
  ['the machine was booted meanwhile', 'unserved', {}, { bootId: 'boot-2' }],
  ['the system does not name its boots', 'unserved', { bootId: null }, { bootId: null }],
])('between two runs, when %s: %s', (_, why, last, now) => {
  const found = missedBetweenRuns({ ...STOPPED, ...last }, { ...NOW, ...now });
  const missed = {
    why,
    sinceMs: last.aliveAtMs === null ? null : WALL,
    untilMs: now.wallMs ?? NOW.wallMs,
    variantIds: null,
  };
  expect(found).toEqual(why === null ? null : missed);
});

const at = (ms: number) => ({ wallMs: WALL + ms, sinceBootMs: LAST + ms, monotonicMs: LAST + ms });
const hasRoom = { isClockAhead: false, isQueueFull: (): boolean => false };
const whysOf = (coverage: Coverage): string[] => coverage.due.map(({ why }) => why);

function running(isShared = false): Coverage {
  const coverage = new Coverage(at(0), isShared);
  coverage.opened(STOPPED, { ...NOW, ...at(0) });
  return coverage;
}

const KILLED: LastRun = { ...STOPPED, isStopped: false };
const NONE: LastRun = { ...STOPPED, aliveAtMs: null };

test.each([
  { after: 'a run that kept the port open', last: STOPPED, isShared: false, due: [], unsure: null },
  { after: 'a kill', last: KILLED, isShared: false, due: ['killed'], unsure: null },
  { after: 'a kill, with a stream', last: KILLED, isShared: true, due: [], unsure: 'killed' },
  { after: 'no run', last: NONE, isShared: false, due: ['first_start'], unsure: null },
  { after: 'no run, with a stream', last: NONE, isShared: true, due: [], unsure: 'first_start' },
])('a start after $after', ({ last, isShared, due, unsure }) => {
  const coverage = isShared ? new Coverage(at(0), true) : new Coverage(at(0));
  coverage.opened(last, { ...NOW, ...at(0) });
  expect(whysOf(coverage)).toEqual(due);
  expect(coverage.unsure?.why ?? null).toBe(unsure);
});

test('the time that a start takes before its port is open is no standstill', () => {
  const coverage = new Coverage(at(0));
  coverage.opened({ ...STOPPED, sinceBootMs: LAST + 49_000 }, { ...NOW, ...at(50_000) });
  coverage.look(at(51_000), hasRoom);
  expect(whysOf(coverage)).toEqual([]);
});

test.each<[string, stalledMs: number, isQueueFull: boolean, whys: string[]]>([
  ['for 2 s, whatever its queue', 2_000, true, []],
  ['for 30 s', 30_000, false, []],
  ['for longer', 30_001, false, ['unserved']],
  ['while its queue was full', 2_001, true, ['unserved']],
])('a socket that a stalled process did not serve %s', (_, stalledMs, isQueueFull, whys) => {
  const coverage = running();
  coverage.look(at(1_000), hasRoom);
  coverage.look(at(1_000 + stalledMs), { ...hasRoom, isQueueFull: () => isQueueFull });
  expect(whysOf(coverage)).toEqual(whys);
});

test('a machine stood still if its monotonic clock did, and another clock did not', () => {
  const coverage = running();
  coverage.look({ ...at(4_000), monotonicMs: LAST + 2_000 }, hasRoom);
  expect(coverage.due).toEqual([]);
  coverage.look({ ...at(8_001), monotonicMs: LAST + 4_000 }, hasRoom);
  expect(coverage.due).toEqual([
    { why: 'stood_still', sinceMs: WALL + 4_000, untilMs: WALL + 8_001, variantIds: null },
  ]);
});

test('an own clock that steps ahead shows that the wall clock was set in small steps', () => {
  const coverage = running();
  coverage.look(at(1_000), { ...hasRoom, isClockAhead: true });
  expect(whysOf(coverage)).toEqual(['stood_still']);
});

test('a wall clock that jumps ahead shows that a virtual machine stood still, whose clocks did, too', () => {
  const coverage = running();
  coverage.look({ ...at(2_000), wallMs: WALL + 602_000 }, hasRoom);
  const missed = { why: 'stood_still', sinceMs: WALL, untilMs: WALL + 602_000, variantIds: null };
  expect(coverage.due).toEqual([missed]);
  coverage.look({ ...at(3_000), wallMs: WALL + 1_000 }, hasRoom);
  expect(coverage.due).toEqual([missed]);
});

test('deliveries may go elsewhere while /healthz says that none can be stored', () => {
  const coverage = running();
  coverage.saidUnfit(WALL + 1_000);
  coverage.saidUnfit(WALL + 2_000);
  expect(coverage.due).toEqual([
    { why: 'not_stored', sinceMs: WALL + 1_000, untilMs: WALL + 2_000, variantIds: null },
  ]);
  coverage.written();
  expect(coverage.due).toEqual([]);
  const shared = running(true);
  shared.saidUnfit(WALL + 1_000);
  shared.saidUnfit(WALL + 2_000);
  expect(shared.due).toEqual([]);
  expect(shared.unsure).toMatchObject({ why: 'not_stored', sinceMs: WALL + 1_000, untilMs: WALL + 2_000 });
});

test('everything stays due until it is written', () => {
  const coverage = running();
  coverage.look(at(40_000), hasRoom);
  coverage.notStored(['1', '2'], WALL + 5_100);
  coverage.notStored(['2', '3'], WALL + 5_200);
  expect(coverage.due).toMatchObject([
    { why: 'unserved' },
    { why: 'not_stored', sinceMs: WALL + 5_100, untilMs: WALL + 5_200, variantIds: ['1', '2', '3'] },
  ]);
  coverage.written();
  expect(coverage.due).toEqual([]);
});

test('the list of the variants of refused deliveries is not copied for each commit that fails', () => {
  const coverage = running();
  coverage.notStored(['1'], WALL);
  const [first] = coverage.due;
  coverage.notStored(['2'], WALL + 1);
  const [second] = coverage.due;
  expect(second?.variantIds).toBe(first?.variantIds);
  expect(second?.variantIds).toEqual(['1', '2']);
});

test.each<[string, (coverage: Coverage) => void]>([
  ['a delivery that names no variant', (coverage) => coverage.notStored(null, WALL)],
  [
    'more than 10,000 variants',
    (coverage) =>
      coverage.notStored(
        Array.from({ length: 10_001 }, (_, n) => String(n)),
        WALL,
      ),
  ],
])('%s that was not stored may be about anything, whatever follows', (_, note) => {
  const coverage = running();
  note(coverage);
  coverage.notStored(['1'], WALL);
  expect(coverage.due).toMatchObject([{ why: 'not_stored', variantIds: null }]);
});

test('10,000 variants that were not stored are named', () => {
  const coverage = running();
  const variantIds = Array.from({ length: 10_000 }, (_, n) => String(n));
  coverage.notStored(variantIds, WALL);
  expect(coverage.due).toMatchObject([{ why: 'not_stored', variantIds }]);
});

test('with a stream, only the stream shows whether another receiver listened', () => {
  const coverage = running(true);
  expect(coverage.unsure).toBeNull();
  coverage.look(at(40_000), hasRoom);
  const { unsure } = coverage;
  expect(unsure).toMatchObject({ why: 'unserved', sinceMs: WALL, untilMs: WALL + 40_000 });
  coverage.look(at(80_000), hasRoom);
  expect(whysOf(coverage)).toEqual([]);
  // The stream has shown it of the first time only.
  coverage.sure(present(unsure));
  expect(coverage.unsure).toMatchObject({ sinceMs: WALL, untilMs: WALL + 80_000 });
  coverage.sure(present(coverage.unsure));
  expect(coverage.unsure).toBeNull();
});

test('with a stream, a time that the run before was not sure of stays open', () => {
  const coverage = new Coverage(at(0), true);
  coverage.opened({ ...STOPPED, unsureSinceMs: WALL - 7 }, { ...NOW, ...at(0) });
  const unsure = { why: 'killed', sinceMs: WALL - 7, untilMs: WALL, variantIds: null };
  expect(coverage.unsure).toEqual(unsure);
});

test('a host without a public port misses nothing there', () => {
  const coverage = new Coverage(at(0), true);
  coverage.look(at(40_000), hasRoom);
  expect([coverage.due, coverage.unsure]).toEqual([[], null]);
});
