import { expect, test, vi } from 'vitest';
import { present } from '../shared/present.ts';
import { eventually } from '../process/wait.ts';
import { newDatabases, type DirectDatabases } from '../reconcile/mirror.ts';
import { delivery, detail, item, readInput, T0 } from '../mirror/mirror-file.ts';
import { EventReader } from './events.ts';
import { startOps, type Ops } from './harness.ts';

type Json = Record<string, unknown>;

const seqsIn = (databases: DirectDatabases): number[] =>
  databases.rows<{ seq: number }>('SELECT seq FROM mirror_changes ORDER BY seq').map(({ seq }) => seq);
const epochOf = (databases: DirectDatabases): string =>
  present(databases.rows<{ epoch: string }>('SELECT epoch FROM mirror_status')[0]).epoch;

const lastSeqOf = (databases: DirectDatabases): number =>
  present(databases.rows<{ seq: number }>('SELECT last_seq AS seq FROM mirror_status')[0]).seq;

/** @returns also a function that makes one change of a level. */
async function serving() {
  const databases = newDatabases();
  const ops = await startOps(databases);
  let qty = 1_000;
  const change = async () => {
    const sold = item({ old: qty, new: qty - 1, update_time: T0 + (1_000 - qty) });
    await databases.deliver(delivery(`r${qty}`, sold), T0 + (1_000 - qty));
    qty -= 1;
  };
  return { databases, ops, change };
}

async function changes(ops: Ops, query: string): Promise<{ status: number; body: Json }> {
  const { status, json } = await ops.ask(`/api/changes?${query}`);
  return { status, body: json as Json };
}

test('pages through every change once, in order', async () => {
  const { databases, ops, change } = await serving();
  expect(await changes(ops, 'after=0')).toMatchObject({
    status: 200,
    body: { changes: [], next: 0, has_more: false },
  });
  for (let n = 0; n < 7; n += 1) await change();
  const found: Json[] = [];
  let after = 0;
  for (let more = true; more;) {
    const { body } = await changes(ops, `after=${after}&limit=3&epoch=${epochOf(databases)}`);
    expect(body['epoch']).toBe(epochOf(databases));
    found.push(...(body['changes'] as Json[]));
    after = Number(body['next']);
    more = Boolean(body['has_more']);
  }
  expect(found).toEqual(databases.rows('SELECT * FROM mirror_changes ORDER BY seq'));
  expect(found).toHaveLength(7);
  expect(await changes(ops, `after=${after}`)).toMatchObject({ body: { changes: [], next: after } });
  expect((await changes(ops, 'limit=1')).body['changes']).toEqual(found.slice(0, 1));
});

test('streams every change once, in order, over reconnections', async () => {
  const { databases, ops, change } = await serving();
  await change();
  let reader = new EventReader(`${ops.url}/api/changes/stream?after=0&epoch=${epochOf(databases)}`);
  const seen: number[] = [];
  const steady = new EventReader(`${ops.url}/api/changes/stream?after=0`);
  for (let n = 0; n < 60; n += 1) {
    await change();
    if (n % 15 !== 7) continue;
    await eventually(() => reader.seqs.length > 0, { what: 'changes' });
    reader.cut();
    seen.push(...reader.seqs);
    const { lastId } = reader;
    await change();
    reader = new EventReader(`${ops.url}/api/changes/stream?epoch=${epochOf(databases)}`, { lastId });
  }
  const all = seqsIn(databases);
  expect(all.length).toBeGreaterThan(60);
  await eventually(() => seen.length + reader.seqs.length >= all.length, { what: 'all changes' });
  expect([...seen, ...reader.seqs]).toEqual(all);
  await eventually(() => steady.seqs.length >= all.length, { what: 'all changes in one go' });
  expect(steady.seqs).toEqual(all);
  expect(steady.events[0]).toMatchObject({ name: 'epoch', data: { epoch: epochOf(databases) } });
  expect(steady.of('change').map(({ data }) => data)).toEqual(
    databases.rows('SELECT * FROM mirror_changes ORDER BY seq'),
  );
});

test('moves a stream past numbers without a change', async () => {
  const { databases, ops } = await serving();
  const renamed = { ...detail('10', [{ id: '100', levels: { 1: 5 } }]) };
  await databases.mirror.append(readInput('10', renamed, { sentAtMs: T0 }));
  const reader = new EventReader(`${ops.url}/api/changes/stream?after=0`);
  await eventually(() => reader.seqs.length > 0, { what: 'the first change' });
  const again = { ...detail('10', [{ id: '100', levels: { 1: 5 }, more: { name: 'New name' } }]) };
  await databases.mirror.append(readInput('10', again, { sentAtMs: T0 + 60_000 }));
  const seq = lastSeqOf(databases);
  expect(seq).toBeGreaterThan(present(seqsIn(databases).at(-1)));
  await eventually(() => reader.lastId === String(seq), { what: 'the last number' });
  expect(reader.seqs).toEqual(seqsIn(databases));
});

test('refuses consumers of another epoch, of pruned changes and of numbers never issued', async () => {
  const { databases, ops, change } = await serving();
  for (let n = 0; n < 5; n += 1) await change();
  const [, second = 0, , fourth = 0, last = 0] = seqsIn(databases);
  const position = { epoch: epochOf(databases), last_seq: last };
  const refused = async (query: string, status: number, error: string) => {
    expect(await changes(ops, query)).toMatchObject({ status, body: { error, ...position } });
    const stream = await ops.ask(`/api/changes/stream?${query}`);
    expect(stream).toMatchObject({ status, json: { error, ...position } });
  };
  await refused('after=0&epoch=abc', 409, 'epoch_changed');
  await refused('epoch=abc', 409, 'epoch_changed');
  await refused(`after=${last + 1}`, 410, 'ahead');
  expect((await changes(ops, `after=${last}`)).status).toBe(200);
  expect((await changes(ops, 'after=0')).status).toBe(200);

  await databases.mirror.command('prune', { beforeMs: T0 + 3, afterMs: Infinity, limit: 100 });
  expect(seqsIn(databases)[0]).toBe(fourth);
  await refused('after=0', 410, 'pruned');
  await refused(`after=${second - 1}`, 410, 'pruned');
  const { body } = await changes(ops, `after=${fourth - 1}`);
  expect((body['changes'] as Json[]).map((row) => row['seq'])).toEqual([fourth, last]);
  expect((await changes(ops, '')).body['changes']).toHaveLength(2);
  const reader = new EventReader(`${ops.url}/api/changes/stream`, { lastId: '0' });
  await eventually(() => reader.status === 410, { what: 'the refusal' });
});

test('takes an empty Last-Event-ID as none', async () => {
  const { databases, ops } = await serving();
  await databases.mirror.append(
    readInput('10', detail('10', [{ id: '100', levels: { 1: 5 } }]), { sentAtMs: T0 }),
  );
  const reader = new EventReader(`${ops.url}/api/changes/stream?after=0`, { lastId: '' });
  await eventually(() => reader.seqs.length > 0, { what: `the stream, not ${reader.body}` });
  expect(reader.seqs).toEqual(seqsIn(databases));
});

test('continues a consumer that has seen all pruned changes', async () => {
  const { databases, ops } = await serving();
  const named = (name: string) => detail('10', [{ id: '100', levels: { 1: 5 }, more: { name } }]);
  const read = (name: string, sentAtMs: number) =>
    databases.mirror.append(readInput('10', named(name), { sentAtMs }));
  await read('First', T0);
  const pruned = Math.max(...seqsIn(databases));
  const reader = new EventReader(`${ops.url}/api/changes/stream?after=${pruned}`);
  await eventually(() => reader.events.length > 0, { what: 'the stream' });
  await read('Second', T0 + 60_000);
  await databases.mirror.command('prune', { beforeMs: T0 + 90_000, afterMs: Infinity, limit: 100 });
  expect(seqsIn(databases)).toEqual([]);
  await read('Third', T0 + 120_000);
  const seq = lastSeqOf(databases);
  await eventually(() => reader.lastId === String(seq), { what: 'the last number' });
  expect(reader.of('gone')).toEqual([]);
  expect(await changes(ops, `after=${pruned}`)).toMatchObject({
    status: 200,
    body: { changes: [], next: seq },
  });
  expect(await changes(ops, `after=${pruned - 1}`)).toMatchObject({ status: 410, body: { error: 'pruned' } });
});

test('reads the database once per commit for all streams and limits the streams of a client', async () => {
  const { databases, ops, change } = await serving();
  const asked = vi.spyOn(databases.mirror, 'ask');
  await change();
  const [first = 0] = seqsIn(databases);
  const path = `/api/changes/stream?after=${first}`;
  const readers = Array.from({ length: 100 }, () => new EventReader(ops.url + path));
  await eventually(() => readers.every((reader) => reader.events.length > 0), { what: 'all open' });
  const over = await ops.ask('/api/changes/stream');
  expect(over).toMatchObject({ status: 503, json: { error: 'too_many_streams' } });
  expect(over.text).toContain('127.0.0.1 holds 100');
  const other = await ops.ask(path, { method: 'HEAD', localAddress: '127.0.0.2' });
  expect(other).toMatchObject({
    status: 200,
    headers: { 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' },
  });
  const before = asked.mock.calls.length;
  await change();
  await eventually(() => readers.every((reader) => reader.seqs.length === 1), { what: 'the change in each' });
  expect(asked.mock.calls.length - before).toBeLessThanOrEqual(5);
  present(readers[0]).cut();
  await eventually(async () => (await ops.ask('/api/changes/stream', { method: 'HEAD' })).status === 200, {
    what: 'a free place',
  });
});

test('ends streams when the service stops', async () => {
  const { databases, ops, change } = await serving();
  await change();
  const [first = 0] = seqsIn(databases);
  const readers = [0, 1, 2].map(() => new EventReader(`${ops.url}/api/changes/stream?after=${first}`));
  await eventually(() => readers.every((reader) => reader.events.length > 0), { what: 'all open' });
  await ops.stop();
  await eventually(() => readers.every((reader) => reader.isOver), { what: 'the end' });
});
