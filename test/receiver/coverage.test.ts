/** When deliveries may have been missed (docs/architecture.md#what-may-have-been-missed). */
import { expect, test } from 'vitest';
import {
  Coverage,
  missedBetweenRuns,
  type LastRun,
  type Opening,
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
const NOW: Opening = { wallMs: WALL + 900, sinceBootMs: LAST + 900, bootId: BOOT, passedSocket: SOCKET };

test.each<[string, string | null, Partial<LastRun>, Partial<Opening>]>([
  ['there was no run', 'first_start', { aliveAtMs: null }, {}],
  ['the run ended without a stop', 'killed', { isStopped: false }, {}],
  ['the run opened the port itself', 'port_closed', { keptSocket: null }, {}],
  ['this run opens the port itself', 'port_closed', {}, { passedSocket: null }],
  ['a passed socket was unserved for a moment', null, {}, {}],
  ['it was unserved for 30 s', null, {}, { sinceBootMs: LAST + 30_000 }],
  ['it was unserved for longer', 'kept_socket', {}, { sinceBootMs: LAST + 30_001 }],
  ['the wall clock was set meanwhile', null, {}, { wallMs: WALL + 86_400_000 }],
  ['its queue was full', 'kept_socket', {}, { passedSocket: { ...SOCKET, wasQueueFull: true } }],
  ['another socket is passed', 'kept_socket', {}, { passedSocket: { ...SOCKET, inode: INODE + 1 } }],
  ['the machine was booted meanwhile', 'kept_socket', {}, { bootId: 'boot-2' }],
  ['the system does not name its boots', 'kept_socket', { bootId: null }, { bootId: null }],
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

const at = (ms: number) => ({ wallMs: WALL + ms, sinceBootMs: LAST + ms });

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
  // It may replace a host whose disk was lost with deliveries that it had not published.
  { after: 'no run, with a stream', last: NONE, isShared: true, due: ['first_start'], unsure: null },
])('a start after $after', ({ last, isShared, due, unsure }) => {
  const coverage = isShared ? new Coverage(at(0), true) : new Coverage(at(0));
  coverage.opened(last, { ...NOW, ...at(0) });
  expect(coverage.due(at(0)).map(({ why }) => why)).toEqual(due);
  expect(coverage.unsure?.why ?? null).toBe(unsure);
});

test('the time that a start takes before its port is open is no standstill', () => {
  const coverage = new Coverage(at(0));
  coverage.opened(STOPPED, { ...NOW, ...at(5_000) });
  expect(coverage.noticeStandstill(at(6_000))).toBe(0);
  expect(coverage.due(at(6_000))).toEqual([]);
});

test('a process that could not read its socket for more than 2 s stood still', () => {
  const coverage = running();
  expect(coverage.noticeStandstill(at(2_000))).toBe(0);
  expect(coverage.noticeStandstill(at(4_001))).toBe(2_001);
  const missed = { sinceMs: WALL + 2_000, untilMs: WALL + 4_001, variantIds: null };
  expect(coverage.due(at(4_001))).toEqual([{ why: 'stood_still', ...missed }]);
});

test('a wall clock that jumps ahead shows that a virtual machine stood still, whose clocks did, too', () => {
  const coverage = running();
  const paused = { wallMs: WALL + 602_000, sinceBootMs: LAST + 2_000 };
  expect(coverage.noticeStandstill(paused)).toBe(602_000);
  expect(coverage.due(paused)).toMatchObject([
    { why: 'stood_still', sinceMs: WALL, untilMs: WALL + 602_000 },
  ]);
  expect(coverage.noticeStandstill({ wallMs: WALL + 1_000, sinceBootMs: LAST + 3_000 })).toBe(0);
});

test('deliveries may go elsewhere while /healthz says that none can be stored', () => {
  const coverage = running();
  coverage.saidUnfit(WALL + 1_000);
  coverage.saidUnfit(WALL + 2_000);
  const due = coverage.due(at(2_500));
  expect(due).toEqual([
    { why: 'not_stored', sinceMs: WALL + 1_000, untilMs: WALL + 2_000, variantIds: null },
  ]);
  coverage.written(due, LAST + 2_500);
  expect(coverage.due(at(2_500))).toEqual([]);
  const shared = running(true);
  shared.saidUnfit(WALL + 1_000);
  shared.saidUnfit(WALL + 2_000);
  expect(shared.due(at(2_500))).toEqual([]);
  expect(shared.unsure).toMatchObject({ why: 'not_stored', sinceMs: WALL + 1_000, untilMs: WALL + 2_000 });
});

test('everything stays due until it is written', () => {
  const coverage = running();
  coverage.noticeStandstill(at(5_000));
  coverage.notStored(['1', '2'], WALL + 5_100);
  coverage.notStored(['2', '3'], WALL + 5_200);
  const due = coverage.due(at(5_200));
  expect(coverage.due(at(5_200))).toEqual(due);
  expect(due).toMatchObject([
    { why: 'stood_still' },
    { why: 'not_stored', sinceMs: WALL + 5_100, untilMs: WALL + 5_200, variantIds: ['1', '2', '3'] },
  ]);
  coverage.written(due, LAST + 5_200);
  expect(coverage.due(at(5_200))).toEqual([]);
});

test('what is noticed while other rows are written stays due', () => {
  const coverage = running();
  coverage.noticeStandstill(at(5_000));
  const first = coverage.due(at(5_000));
  coverage.noticeStandstill(at(9_000));
  coverage.notStored(['1'], WALL);
  coverage.doubt('cut_off', WALL);
  coverage.written(first, LAST + 9_000);
  const refused = [{ variantIds: ['7'] }];
  const left = coverage.due({ ...at(9_000), refused });
  expect(left.map(({ why }) => why)).toEqual(['stood_still', 'refused', 'not_stored', 'cut_off']);
  coverage.written(left, LAST + 9_000);
  coverage.doubt('cut_off', WALL);
  // They were written with the others, and wait for their pauses now.
  expect(coverage.due({ ...at(9_001), refused })).toEqual([]);
});

test('with the first proof, everything before it may have been missed', () => {
  const proof = { ...at(5), isFirstProof: true };
  const missed = { why: 'unproven', sinceMs: null, untilMs: WALL + 5, variantIds: null };
  expect(running().due(proof)).toEqual([missed]);
  expect(running(true).due(proof)).toEqual([missed]);
});

test('the list of the variants of refused deliveries is not copied for each commit that fails', () => {
  const coverage = running();
  coverage.notStored(['1'], WALL);
  const [first] = coverage.due(at(0));
  coverage.notStored(['2'], WALL + 1);
  const [second] = coverage.due(at(1));
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
  expect(coverage.due(at(0))).toMatchObject([{ why: 'not_stored', variantIds: null }]);
});

test('10,000 variants that were not stored are named', () => {
  const coverage = running();
  const variantIds = Array.from({ length: 10_000 }, (_, n) => String(n));
  coverage.notStored(variantIds, WALL);
  expect(coverage.due(at(0))).toMatchObject([{ why: 'not_stored', variantIds }]);
});

test('requests that could not be read make one row, from the first to the last of them', () => {
  const coverage = running();
  coverage.doubt('cut_off', WALL);
  coverage.doubt('turned_away', WALL + 5);
  const missed = { why: 'cut_off', sinceMs: WALL, untilMs: WALL + 5, variantIds: null };
  expect(coverage.due(at(5))).toEqual([missed]);
});

test('requests that strangers can cut off or crowd out are written once in 15 minutes, and at a stop', () => {
  const coverage = running();
  const write = (ms: number, isLast = false): string[] => {
    const due = coverage.due({ ...at(ms), isLast });
    coverage.written(due, LAST + ms);
    return due.map(({ why }) => why);
  };
  coverage.doubt('cut_off', WALL);
  expect(write(0)).toEqual(['cut_off']);
  coverage.doubt('turned_away', WALL);
  expect(write(1_000)).toEqual([]);
  expect(write(15 * 60_000)).toEqual(['turned_away']);
  coverage.doubt('cut_off', WALL);
  expect(write(15 * 60_000 + 1)).toEqual([]);
  expect(write(15 * 60_000 + 2, true)).toEqual(['cut_off']);
});

test('refused webhooks that others followed are written at once, then once in 5 minutes, and at a stop', () => {
  const coverage = running(true);
  const refused = [{ variantIds: ['7', '8'] }, { variantIds: ['8', '9'] }];
  const write = (ms: number, isLast = false) => {
    const due = coverage.due({ ...at(ms), isLast, refused });
    coverage.written(due, LAST + ms);
    return due;
  };
  const row = { why: 'refused', sinceMs: null, variantIds: ['7', '8', '9'] };
  expect(coverage.due({ ...at(0), refused: [] })).toEqual([]);
  expect(write(0)).toEqual([{ ...row, untilMs: WALL }]);
  expect(write(5 * 60_000 - 1)).toEqual([]);
  expect(write(5 * 60_000)).toHaveLength(1);
  expect(write(5 * 60_000 + 1, true)).toHaveLength(1);
});

test('with a stream, only the stream shows whether another receiver listened', () => {
  const coverage = running(true);
  expect(coverage.unsure).toBeNull();
  coverage.noticeStandstill(at(5_000));
  const { unsure } = coverage;
  expect(unsure).toMatchObject({ why: 'stood_still', sinceMs: WALL, untilMs: WALL + 5_000 });
  coverage.noticeStandstill(at(9_000));
  expect(coverage.due(at(9_000))).toEqual([]);
  // The stream has shown it of the first time only.
  coverage.sure(present(unsure));
  expect(coverage.unsure).toMatchObject({ sinceMs: WALL, untilMs: WALL + 9_000 });
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
  coverage.noticeStandstill(at(5_000));
  expect([coverage.due(at(5_000)), coverage.unsure]).toEqual([[], null]);
});
