/** Receivers and replicas of one deployment: equal to each other and to the store, whatever happens between them. */
import { expect, test } from 'vitest';
import { endingOf } from '../../scripts/crash/quiet.ts';
import { digestsOf } from '../../src/mirror/file/projected.ts';
import { openReader } from '../../src/sqlite/open.ts';
import { eventually, untilNone } from '../process/wait.ts';
import { membersIn } from '../../src/replication/presence.ts';
import { present } from '../shared/present.ts';
import { startMachines, webhookUrlOf, type Machine, type Machines } from './machines.ts';

function digests({ path }: Machine): ReadonlyMap<string, string> {
  const db = openReader(path);
  try {
    return digestsOf(db);
  } finally {
    db.close();
  }
}

function differingTables(one: Machine, other: Machine): string[] {
  const theirs = digests(other);
  return [...digests(one)].filter(([table, digest]) => theirs.get(table) !== digest).map(([table]) => table);
}

/** Quiet, equal to the store's truth, and to each other in every table. */
async function untilEqual({ sandbox }: Machines, ...replicas: readonly Machine[]): Promise<void> {
  await untilNone(() => replicas.flatMap(({ path }) => endingOf(path, sandbox.truth).problems), {
    what: 'replicas equal the store',
    withinMs: 60_000,
  });
  const [first, ...others] = replicas;
  if (first === undefined) return;
  for (const other of others) {
    await untilNone(() => differingTables(first, other), {
      what: `${other.name} equals ${first.name}`,
      withinMs: 10_000,
    });
  }
}

/** Changes in the store, told to each of the receivers in turn. */
async function trade({ sandbox }: Machines, steps: number, ...receivers: readonly Machine[]): Promise<void> {
  for (let step = 0; step < steps; step += 1) {
    const receiver = receivers[step % receivers.length];
    if (receiver !== undefined) sandbox.webhookUrl = webhookUrlOf(receiver);
    sandbox.traffic.step();
    const sent = sandbox.deliveries.records.length;
    await eventually(
      () => sandbox.deliveries.records.slice(0, sent).every(({ outcome }) => outcome !== 'pending'),
      {
        what: 'it is answered',
      },
    );
  }
}

const isLeading = async (machine: Machine): Promise<boolean> => {
  const { lead } = (await (await machine.ask('/api/replication')).json()) as {
    lead: { is_leading: boolean };
  };
  return lead.is_leading;
};

async function lead(...replicas: readonly Machine[]): Promise<Machine> {
  return eventually(
    async () => {
      for (const replica of replicas) if (await isLeading(replica)) return replica;
      return null;
    },
    { what: 'one leads' },
  );
}

/** A receiver and two replicas that run, have taken some changes, and are equal. @param roles of the second one. */
async function settled({ roles = 'replica,lead' } = {}) {
  const machines = await startMachines();
  const one = await machines.begin('r1', 'receive');
  const [a, b] = [await machines.begin('a', 'replica,lead'), await machines.begin('b', roles)];
  const first = await lead(a, ...(roles.includes('lead') ? [b] : []));
  await trade(machines, 10, one);
  await untilEqual(machines, a, b);
  return { machines, one, a, b, first };
}

test('two receivers and two replicas: both mirrors equal the store and each other', async () => {
  const machines = await startMachines();
  const [one, two] = [await machines.begin('r1', 'receive'), await machines.begin('r2', 'receive')];
  const [a, b] = [await machines.begin('a', 'replica,lead'), await machines.begin('b', 'replica,lead')];
  await lead(a, b);
  await trade(machines, 40, one, two);
  await untilEqual(machines, a, b);
  for (const machine of [one, two, a, b]) expect(machine.deaths).toEqual([]);
}, 120_000);

test('a replica that joins later begins with a snapshot', async () => {
  const machines = await startMachines();
  const one = await machines.begin('r1', 'receive');
  const a = await machines.begin('a', 'replica,lead');
  await lead(a);
  await trade(machines, 10, one);
  await untilEqual(machines, a);
  // The base of this history is behind what a new replica has.
  await a.stop();
  machines.broker.empty();
  const again = await machines.begin('a', 'replica,lead');
  await lead(again);
  await eventually(() => machines.broker.snapshot !== null, { what: 'a snapshot is put' });
  await trade(machines, 10, one);
  const b = await machines.begin('b', 'replica,lead');
  await untilEqual(machines, again, b);
  expect(b.said.some((line) => line.includes('replaced by a snapshot'))).toBe(true);
  expect(b.deaths).toEqual([]);
}, 120_000);

test('the lead stopped: the other takes over, and reads what is asked for', async () => {
  const { machines, one, a, b, first } = await settled();
  const other = first === a ? b : a;
  const answer = await other.ask('/api/resync', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  expect(answer.status).toBe(202);
  await untilEqual(machines, a, b);
  await first.stop();
  expect(await lead(other)).toBe(other);
  await trade(machines, 10, one);
  await untilEqual(machines, other);
  expect(other.deaths).toEqual([]);
}, 120_000);

test('an engine that has lost everything: a new epoch, and equal again', async () => {
  const { machines, one, a, b } = await settled();
  const epochs = [epochOf(a), epochOf(b)];
  expect(epochs[0]).toBe(epochs[1]);
  machines.broker.empty();
  await trade(machines, 10, one);
  await eventually(() => epochOf(a) !== epochs[0] && epochOf(a) === epochOf(b), {
    what: 'a new epoch',
    withinMs: 60_000,
  });
  await untilEqual(machines, a, b);
  for (const machine of [one, a, b]) expect(machine.deaths).toEqual([]);
}, 120_000);

test('an engine that has lost its end: what receivers still have comes again', async () => {
  const { machines, one, a, b } = await settled();
  const before = epochOf(a);
  machines.broker.loseTail(3);
  await trade(machines, 5, one);
  await eventually(() => epochOf(a) !== before && epochOf(a) === epochOf(b), {
    what: 'a new epoch',
    withinMs: 60_000,
  });
  await untilEqual(machines, a, b);
}, 120_000);

test('a replica that is cut off says so, to its reader too, and comes back by itself', async () => {
  const { machines, one, a, b } = await settled({ roles: 'replica' });
  expect((await b.ask('/readyz')).status).toBe(200);
  machines.broker.cutOff('b');
  await eventually(async () => (await b.ask('/readyz')).status === 503, { what: 'it is not ready' });
  const status = (await (await b.ask('/api/status')).json()) as { causes: { kind: string }[] };
  expect(status.causes.map(({ kind }) => kind)).toContain('cut_off');
  await eventually(() => stateOf(b) === 'stale', {
    what: 'the file says that it is stale',
    withinMs: 40_000,
  });
  expect(stateOf(a)).toBe('live');
  await trade(machines, 5, one);
  machines.broker.reconnect('b');
  await untilEqual(machines, a, b);
  expect((await b.ask('/readyz')).status).toBe(200);
}, 120_000);

test('a quiet hour is no standstill: the receiver has missed nothing, and nothing is read for its sake', async () => {
  const machines = await startMachines();
  const one = await machines.begin('r1', 'receive');
  const life = async (): Promise<string> => {
    const { receivers } = await membersIn(machines.broker.engine().presence);
    return present(receivers.get('r1')).life;
  };
  const before = await eventually(life, { what: 'it tells of itself' });
  // Longer than the clock takes for a standstill.
  await new Promise((resolve) => setTimeout(resolve, 7_000));
  await trade(machines, 2, one);
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  expect(await life()).toBe(before);
}, 60_000);

test('a receiver alone shows its figures, and that it keeps no mirror', async () => {
  const machines = await startMachines();
  const one = await machines.begin('r1', 'receive');
  await trade(machines, 3, one);
  const metrics = await eventually(
    async () => {
      const text = await (await one.ask('/metrics')).text();
      return text.includes('stock_mirror_outbox_entries 0\n') ? text : null;
    },
    { what: 'nothing waits' },
  );
  expect(metrics).toContain('stock_mirror_replica_entries_left Nan');
  const view = (await (await one.ask('/api/replication')).json()) as Record<string, unknown>;
  expect(view).toMatchObject({ name: 'r1', origin: 'simulated engine', replica: null, lead: null });
  expect(view['receiver']).toMatchObject({ backlog: 0, trouble: null });
  const answer = await one.ask('/api/status');
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({ error: 'unavailable' });
  machines.broker.cutOff('r1');
  const { records } = machines.sandbox.deliveries;
  const before = records.length;
  await trade(machines, 6, one);
  const waiting = `stock_mirror_outbox_entries ${records.length - before}`;
  expect(records.length).toBeGreaterThan(before);
  await eventually(async () => (await (await one.ask('/metrics')).text()).includes(`${waiting}\n`), {
    what: 'they wait in the outbox',
  });
  expect((await fetch(webhookUrlOf(one).replace('webhooks', 'healthz'))).status).toBe(200);
  const startedMs = performance.now();
  await one.stop();
  expect(performance.now() - startedMs).toBeLessThan(4_000);
  machines.broker.reconnect('r1');
  const again = await machines.begin('r1', 'receive');
  await eventually(() => machines.broker.lastSeq === records.length, { what: 'they are forwarded' });
  expect(again.deaths).toEqual([]);
}, 60_000);

function statusOf({ path }: Machine, column: string): string | undefined {
  const db = openReader(path);
  try {
    return db.prepare<[], string>(`SELECT ${column} FROM mirror_status`).pluck().get();
  } finally {
    db.close();
  }
}

const epochOf = (machine: Machine): string | undefined => statusOf(machine, 'epoch');
const stateOf = (machine: Machine): string | undefined => statusOf(machine, 'state');
