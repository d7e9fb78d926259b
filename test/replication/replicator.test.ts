/** What a source has comes into the replica's own log, and how the replica stands is never prettier than it is. */
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Copied } from '../../src/event-log/append-loop.ts';
import type { CopiedRow } from '../../src/event-log/copied-row.ts';
import { encodeEntry } from '../../src/event-log/entries.ts';
import type { CopyArgs } from '../../src/event-log/event-log.ts';
import { Replicator } from '../../src/replication/replicator.ts';
import { CannotFollow, TransportError, type Batch, type Standing } from '../../src/replication/transport.ts';
import { StoreError } from '../../src/sqlite/errors.ts';
import { T0 } from '../mirror/mirror-file.ts';
import { eventually } from '../process/wait.ts';

const listed: CopiedRow = {
  ...encodeEntry({ kind: 'listed', atMs: T0, productIds: [], lookup: false }),
  seq: null,
};
const pruned = (firstSeq: number): CopiedRow => ({
  ...encodeEntry({ kind: 'pruned', atMs: T0, beforeMs: T0, firstSeq, limit: 500 }),
  seq: null,
});
const batch = (rows: readonly CopiedRow[], over: Partial<Batch> = {}): Batch => ({
  rows,
  positions: rows.map((_row, i) => i + 1),
  cursor: { at: rows.length },
  firstSeq: null,
  left: 0,
  isLive: true,
  ...over,
});

/** @param lives what each attempt to follow gives, and how it ends; the last one goes on for ever. */
function replicating(
  lives: readonly { readonly gives?: readonly Batch[]; readonly ends?: Error }[],
  over: Partial<ConstructorParameters<typeof Replicator>[0]> = {},
) {
  const froms: Standing[] = [];
  const did: string[] = [];
  let lastSeq = 10;
  let firstSeq = 1;
  const copy = vi.fn(({ rows, firstSeq: below }: CopyArgs): Promise<Copied> => {
    const places = rows.map((_row, i) => ({ seq: lastSeq + i + 1, duplicate: false }));
    lastSeq += rows.length;
    did.push(`copied to ${lastSeq}`);
    // A portion at a time.
    firstSeq = Math.max(firstSeq, Math.min(below ?? 0, firstSeq + 2));
    return Promise.resolve({ places, firstSeq, lastSeq, epoch: 'e' });
  });
  const replicator = new Replicator(
    {
      source: {
        name: 'memory',
        follow: async function* (from, signal) {
          froms.push(from);
          const { gives = [], ends } = lives[Math.min(froms.length, lives.length) - 1] ?? {};
          yield* gives;
          if (ends !== undefined) throw ends;
          await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        },
      },
      copy,
      applied: (seq) => {
        did.push(`applied ${seq}`);
        return Promise.resolve();
      },
      onCopied: () => void did.push('told'),
      isPassed: () => false,
      onEpoch: () => void did.push('epoch'),
      log: pino({ level: 'silent' }),
      ...over,
    },
    { epoch: 'e', lastSeq, cursor: null },
  );
  const stopping = new AbortController();
  const running = replicator.run(stopping.signal);
  running.catch(() => undefined);
  onTestFinished(() => stopping.abort());
  return { replicator, copy, froms, did, running, stopping };
}

const isUpToDate = ({ state }: Replicator): boolean => state.upToDateAtMs !== null;

test('rows are on disk before anybody is told, and it goes on from there after trouble', async () => {
  const { replicator, froms, did } = replicating([
    { gives: [batch([listed, listed])], ends: new TransportError('cut off') },
    { gives: [batch([listed], { cursor: { at: 3 } })] },
  ]);
  await eventually(() => replicator.state.trouble === 'cut off', { what: 'the trouble shows' });
  await eventually(() => froms.length === 2 && replicator.state.trouble === null, { what: 'it is over' });
  expect(did).toEqual(['copied to 12', 'told', 'copied to 13', 'told']);
  expect(froms[1]).toEqual({ epoch: 'e', lastSeq: 12, cursor: { at: 2 } });
  expect(replicator.standing).toEqual({ epoch: 'e', lastSeq: 13, cursor: { at: 3 } });
});

test('a sign of life writes nothing, and a cursor that has moved is written', async () => {
  const { replicator, copy } = replicating([
    {
      gives: [
        batch([], { cursor: null }),
        batch([], { cursor: { at: 1 } }),
        batch([], { cursor: { at: 1 } }),
      ],
    },
  ]);
  await eventually(() => isUpToDate(replicator) && copy.mock.calls.length > 0, { what: 'it has copied' });
  expect(copy.mock.calls.map(([{ cursor }]) => cursor)).toEqual([{ at: 1 }]);
});

test.each<[string, Partial<Batch>]>([
  ['something is left', { left: 3 }],
  ['its source is itself behind', { isLive: false }],
])('it is not up to date while %s', async (_why, over) => {
  const { replicator, copy } = replicating([{ gives: [batch([listed], over)] }]);
  await eventually(() => copy.mock.calls.length === 1, { what: 'it is copied' });
  expect(replicator.state).toMatchObject({ upToDateAtMs: null, left: over.left ?? 0 });
});

test.each([
  ['a pruned entry', batch([pruned(5), listed])],
  ['a pruned entry among others, which prunes nothing of them', batch([listed, pruned(11)])],
  ['a source that has pruned', batch([], { firstSeq: 5 })],
])('before %s takes rows away, they are applied here', async (_what, given) => {
  const { did } = replicating([{ gives: [given] }]);
  await eventually(() => did.includes('told'), { what: 'it is copied' });
  expect(did.slice(0, 1)).toEqual(['applied 10']);
});

test('what its source has pruned goes to its end, a portion with each batch', async () => {
  const sign = batch([], { firstSeq: 6, cursor: null });
  const { copy, replicator } = replicating([
    { gives: [sign, sign, sign, sign, batch([listed], { firstSeq: 6, cursor: null })] },
  ]);
  await eventually(() => replicator.standing.lastSeq === 11, { what: 'all batches are taken' });
  // From 1 to 3, 5 and 6; then nothing is left to go.
  expect(copy.mock.calls.map(([{ rows }]) => rows.length)).toEqual([0, 0, 0, 1]);
});

test('since when it is in trouble: since the first of several, and not any more once it is followed', async () => {
  const { replicator, froms } = replicating([
    { ends: new TransportError('one') },
    { ends: new TransportError('another') },
    { gives: [batch([])] },
  ]);
  await eventually(() => replicator.state.trouble === 'one', { what: 'the trouble shows' });
  const { troubleAtMs } = replicator.state;
  expect(troubleAtMs).toBeGreaterThan(0);
  await eventually(() => replicator.state.trouble === 'another', { what: 'the next one does' });
  expect(replicator.state.troubleAtMs).toBe(troubleAtMs);
  await eventually(() => froms.length === 3 && isUpToDate(replicator), { what: 'it is followed' });
  expect(replicator.state).toMatchObject({ trouble: null, troubleAtMs: null });
});

test('a batch that prunes what comes in it is refused: nothing could have applied that', async () => {
  const { running, copy } = replicating([{ gives: [batch([listed, listed, pruned(12)])] }]);
  await expect(running).rejects.toThrow('must part it there');
  expect(copy).not.toHaveBeenCalled();
});

test('a history that is lost is waited for, and one that went on elsewhere needs a snapshot', async () => {
  const { replicator } = replicating([
    { ends: new CannotFollow('lost', 'history') },
    { ends: new CannotFollow('lost', 'history') },
    { ends: new CannotFollow('elsewhere', 'snapshot') },
  ]);
  await eventually(() => replicator.state.need?.kind === 'history', { what: 'the loss shows' });
  await eventually(() => replicator.state.need?.kind === 'snapshot', { what: 'the need shows' });
  expect(replicator.state).toMatchObject({ trouble: 'elsewhere' });
});

test('what cannot be followed is not over because it is there, and may be looked at', async () => {
  const lost = { gives: [batch([], { left: 2 })], ends: new CannotFollow('deleted', 'history') };
  const { replicator, froms } = replicating([lost, lost, { gives: [batch([], { left: 2 })] }]);
  await eventually(() => froms.length === 2 && replicator.state.need !== null, { what: 'the loss shows' });
  const { need, troubleAtMs } = replicator.state;
  await eventually(() => froms.length === 3 && replicator.state.left === 2, { what: 'it is looked at' });
  expect(replicator.state).toMatchObject({ need, trouble: 'deleted', troubleAtMs });
});

test('where another one has what the engine has lost, only what a new history begins with is copied', async () => {
  const begun: CopiedRow = {
    ...encodeEntry({ kind: 'epoch', atMs: T0, givenOutSeq: 5, epoch: 'next' }),
    seq: 11,
  };
  const { replicator, copy } = replicating(
    [{ gives: [batch([listed, begun])] }, { gives: [batch([begun, listed])] }],
    { isPassed: () => true },
  );
  await eventually(() => replicator.state.trouble?.includes('begins a new history') ?? false, {
    what: 'it waits',
  });
  await eventually(() => copy.mock.calls.length > 0, { what: 'it goes on' });
  expect(copy.mock.calls.map(([{ rows }]) => rows.map(({ kind }) => kind))).toEqual([['epoch', 'listed']]);
});

test('a disk without room ends nothing: the same rows come again', async () => {
  const full = new StoreError('cannot_commit', 'no room');
  let failures = 1;
  const copied: number[] = [];
  const { replicator, froms } = replicating([{ gives: [batch([listed])] }], {
    copy: ({ rows }) => {
      failures -= 1;
      if (failures >= 0) return Promise.reject(full);
      copied.push(rows.length);
      return Promise.resolve({
        places: [{ seq: 11, duplicate: false }],
        firstSeq: 1,
        lastSeq: 11,
        epoch: 'e',
      });
    },
  });
  await eventually(() => replicator.state.trouble === 'no room', { what: 'it is told' });
  await eventually(() => copied.length === 1 && replicator.state.trouble === null, { what: 'it goes on' });
  expect(froms.map(({ lastSeq }) => lastSeq)).toEqual([10, 10]);
});

test('what cannot be continued ends it', async () => {
  const { running } = replicating([{ gives: [batch([listed])] }], {
    copy: () => Promise.reject(new StoreError('unfit_copy', 'they do not fit')),
  });
  await expect(running).rejects.toMatchObject({ kind: 'unfit_copy' });
});

test.each([
  { what: 'another history is told before its rows are', seq: 11, told: ['epoch', 'told'] },
  {
    what: 'an epoch that a lead appends keeps its place, and all positions with it',
    seq: null,
    told: ['told'],
  },
])('$what', async ({ seq, told }) => {
  const epoch: CopiedRow = {
    ...encodeEntry({ kind: 'epoch', atMs: T0, givenOutSeq: 5, epoch: 'next' }),
    seq,
  };
  const { did } = replicating([{ gives: [batch([epoch])] }], {
    copy: () =>
      Promise.resolve({ places: [{ seq: 11, duplicate: false }], firstSeq: 1, lastSeq: 11, epoch: 'next' }),
  });
  await eventually(() => did.includes('told'), { what: 'it is copied' });
  expect(did).toEqual(told);
});

test('it stops at once', async () => {
  const { running, stopping, replicator } = replicating([{ gives: [batch([])] }]);
  await eventually(() => isUpToDate(replicator), { what: 'it follows' });
  stopping.abort();
  await running;
});
