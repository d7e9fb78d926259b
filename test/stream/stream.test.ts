/** Deliveries, missed time and state of several hosts (docs/architecture.md#several-machines). */
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Machines, type Host, type Role } from './host.ts';

const MINUTE = 60_000;

const idOf = (sent: Uint8Array): string =>
  (JSON.parse(Buffer.from(sent).toString()) as { request_id: string }).request_id;

/** The hosts have run for a while. Each mirror has the rows of its own first start and those of the receivers. */
async function running<R extends Role[]>(...roles: R): Promise<[Machines, ...{ [K in keyof R]: Host }]> {
  const machines = new Machines();
  const hosts = roles.map((role) => machines.host(role));
  for (const host of hosts) {
    await host.start();
    await machines.pass(10_000);
  }
  await machines.pass(10_500);
  return [machines, ...hosts] as unknown as [Machines, ...{ [K in keyof R]: Host }];
}

/** One receiver, whose socket stays open while it is stopped, and one mirror. */
async function runningOnPassedSocket() {
  const machines = new Machines();
  const [receiver, mirror] = [machines.host('receiver'), machines.host('mirror')];
  await receiver.start('passed');
  await mirror.start();
  await machines.pass(20_000);
  return { machines, receiver, missed: added(mirror) };
}

/** The reasons of rows that are added from now on. */
function added(host: Host): () => string[] {
  const before = host.whys.length;
  return () => host.whys.slice(before);
}

test('brings each delivery to every host with a mirror once', async () => {
  const [machines, receiver, mirror, both] = await running('receiver', 'mirror', 'both');
  await receiver.receive('a', 'b');
  await machines.pass(1_000);
  await both.receive('c', 'a');
  await machines.pass(1_000);
  expect(receiver.ids).toEqual(['a', 'b']);
  expect(mirror.ids).toEqual(['a', 'b', 'c']);
  expect(both.ids).toEqual(['a', 'b', 'c']);
  for (const host of [receiver, mirror, both]) {
    expect(host.isCurrent).toBe(true);
    expect(host.report).toMatchObject({
      silentSinceMs: null,
      failure: null,
      backlogSinceMs: null,
      unpublishedRows: 0,
      unpublishedSinceMs: null,
      setAside: null,
    });
  }
});

test('keeps deliveries while the servers are away, and publishes them in order afterwards', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  const missed = added(mirror);
  machines.servers.isAway = true;
  const awayAtMs = Date.now();
  await receiver.receive('a', 'b');
  await receiver.receive('c');
  await machines.pass(5 * MINUTE);
  const { failure, silentSinceMs, backlogSinceMs, unpublishedRows } = receiver.report;
  expect([failure, unpublishedRows]).toEqual(['the servers are away', 3]);
  expect(silentSinceMs).not.toBeNull();
  expect(Math.abs((backlogSinceMs ?? 0) - awayAtMs)).toBeLessThan(10);
  expect(mirror.report.silentSinceMs).toBeLessThanOrEqual(awayAtMs);
  expect(mirror.isCurrent).toBe(false);
  machines.servers.isAway = false;
  await machines.pass(10_000);
  expect(mirror.ids).toEqual(['a', 'b', 'c']);
  expect(missed()).toEqual([]);
  expect(mirror.isCurrent).toBe(true);
});

test('publishes unconfirmed deliveries again after a kill, and mirrors drop the doubles', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  await receiver.receive('a');
  await machines.pass(100);
  receiver.kill();
  machines.servers.forgetIds();
  await receiver.start();
  await receiver.receive('b');
  await machines.pass(10_000);
  expect(machines.servers.log.filter(({ subject }) => subject === 'deliveries')).toHaveLength(3);
  expect(mirror.ids).toEqual(['a', 'b']);
});

test('publishes a delivery again that was not taken, and none of those before it', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  receiver.refuses = (_, sent) => idOf(sent) === 'b';
  await receiver.receive('a', 'b');
  await machines.pass(20_000);
  expect(mirror.ids).toEqual(['a']);
  machines.servers.forgetIds();
  receiver.refuses = () => false;
  await machines.pass(20_000);
  expect(mirror.ids).toEqual(['a', 'b']);
  expect(machines.servers.log.filter(({ subject }) => subject === 'deliveries')).toHaveLength(2);
});

test('receivers that cannot store anything do not count as receivers', async () => {
  const [machines, receiver, other, mirror] = await running('receiver', 'receiver', 'mirror');
  const missed = added(mirror);
  receiver.isDiskFull = true;
  await machines.pass(20_000);
  expect(missed()).toEqual(['stream_gap']);
  expect(mirror.isCurrent).toBe(true);
  await other.stop();
  await machines.pass(10_000);
  expect(mirror.report.silentSinceMs).not.toBeNull();
  // It must not vouch for the time in which the other one was stopped.
  await other.start();
  await machines.pass(10_000);
  expect(missed()).toEqual(['stream_gap', 'port_closed']);
  receiver.isDiskFull = false;
  await machines.pass(10_000);
  expect(missed()).toEqual(['stream_gap', 'port_closed']);
  expect(mirror.isCurrent).toBe(true);
});

test.each([
  { others: 'alone', also: 'receiver', whys: ['stream_gap', 'stream_gap'] },
  { others: 'next to another receiver', also: null, whys: ['stream_gap'] },
] as const)(
  'a balancer that is told of a full disk may send webhooks elsewhere: $others',
  async ({ also, whys }) => {
    const [machines, receiver, other, mirror] = await running('receiver', 'receiver', 'mirror');
    const missed = added(mirror);
    const full = also === null ? [receiver] : [receiver, other];
    for (const host of full) host.isDiskFull = true;
    await machines.pass(2_000);
    for (const host of full) expect(await host.health()).toBe(503);
    await machines.pass(20_000);
    for (const host of full) host.isDiskFull = false;
    await machines.pass(15_000);
    expect(await receiver.health()).toBe(200);
    expect(missed()).toEqual(whys);
    expect(mirror.isCurrent).toBe(true);
  },
);

test('sets a delivery aside that the servers refuse for good, and lets mirrors read its variants', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  machines.servers.maxBytes = 200;
  const large = 'x'.repeat(200);
  await receiver.receive('a', large, 'b');
  await machines.pass(10_000);
  expect(mirror.ids).toEqual(['a', 'b']);
  expect(mirror.missed.at(-1)).toMatchObject({ why: 'not_stored', variantIds: ['100'] });
  expect(receiver.report).toMatchObject({ unpublishedRows: 0, setAside: { requestId: large } });
  const stored = machines.servers.lastSeq;
  await receiver.receive('c');
  await machines.pass(1_000);
  expect(machines.servers.lastSeq).toBe(stored + 1);
});

test('takes what came while the mirror was away, and sees nothing missed in its restart', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  const missed = added(mirror);
  mirror.kill();
  await receiver.receive('a');
  await machines.pass(5 * MINUTE);
  await mirror.start();
  expect(mirror.isCurrent).toBe(false);
  await machines.pass(2_000);
  expect(mirror.ids).toEqual(['a']);
  expect(missed()).toEqual([]);
  expect(mirror.isCurrent).toBe(true);
});

test('a new mirror begins with a gap, at the end of the stream', async () => {
  const [machines, receiver] = await running('receiver');
  await receiver.receive('old');
  await machines.pass(1_000);
  const mirror = machines.host('mirror');
  await mirror.start();
  await machines.pass(1_000);
  await receiver.receive('new');
  await machines.pass(1_000);
  expect(mirror.whys).toEqual(['stream_gap']);
  expect(mirror.ids).toEqual(['new']);
});

test('a gap of one mirror is not published', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  const missed = added(mirror);
  const other = machines.host('both');
  await other.start();
  await machines.pass(MINUTE);
  expect(other.whys).toContain('stream_gap');
  expect(missed()).toEqual([]);
  expect(receiver.whys).toEqual(['first_start']);
});

test.each<[string, (machines: Machines) => void]>([
  ['was created again', ({ servers }) => servers.recreate()],
  ['has dropped messages', ({ servers }) => servers.expireBefore(servers.lastSeq + 1)],
])('a mirror that comes back to a stream that %s has one gap', async (_, happen) => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  const missed = added(mirror);
  mirror.kill();
  await receiver.receive('a', 'b');
  await machines.pass(MINUTE);
  happen(machines);
  await mirror.start();
  await receiver.receive('c');
  await machines.pass(MINUTE);
  expect(missed()).toEqual(['stream_gap']);
  await receiver.receive('d');
  await machines.pass(MINUTE);
  mirror.kill();
  await mirror.start();
  await machines.pass(MINUTE);
  expect(missed()).toEqual(['stream_gap']);
  expect(mirror.ids.at(-1)).toBe('d');
  expect(mirror.isCurrent).toBe(true);
});

test('a stream that is created again under running hosts is one gap, after which the mirror is current', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  const missed = added(mirror);
  await receiver.receive('a', 'b');
  await machines.pass(MINUTE);
  machines.servers.recreate();
  await machines.pass(MINUTE);
  expect(missed()).toEqual(['stream_gap']);
  // Although nothing is published that would replace the numbers of the old stream.
  expect(mirror.isCurrent).toBe(true);
  await receiver.receive('c');
  await machines.pass(MINUTE);
  expect(mirror.ids).toEqual(['a', 'b', 'c']);
  expect(mirror.isCurrent).toBe(true);
  expect(missed()).toEqual(['stream_gap']);
});

test('a mirror that cannot look at a stream that was created again is not current', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  await receiver.receive('a', 'b', 'c');
  mirror.kill();
  const { servers } = machines;
  let isRefused = false;
  mirror.broken = {
    log: () => (isRefused ? Promise.reject(new Error('no answer')) : servers.connect().log()),
  };
  await mirror.start();
  await machines.pass(10_000);
  expect(mirror.isCurrent).toBe(true);
  isRefused = true;
  servers.recreate();
  await receiver.receive('d');
  await machines.pass(10_000);
  // Although the new numbers are below its position.
  expect(mirror.isCurrent).toBe(false);
  isRefused = false;
  await machines.pass(5_000);
  expect(mirror.whys.at(-1)).toBe('stream_gap');
  expect(mirror.isCurrent).toBe(true);
});

test('messages that are dropped after a mirror has looked at the stream are a gap', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  const missed = added(mirror);
  mirror.kill();
  await receiver.receive('a', 'b');
  await machines.pass(2_000);
  const { servers } = machines;
  const { id, firstSeq, lastSeq } = servers;
  mirror.broken = { log: () => Promise.resolve({ id, firstSeq, lastSeq }) };
  servers.expireBefore(lastSeq);
  await mirror.start();
  await machines.pass(5_000);
  expect(mirror.ids).toEqual(['b']);
  expect(missed()).toEqual(['stream_gap']);
});

test('a stream that seems shorter for a moment, as a new leader may show it, is no gap', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  await receiver.receive('a');
  await machines.pass(5_000);
  mirror.kill();
  const missed = added(mirror);
  const untilMs = Date.now() + 3_000;
  const { servers } = machines;
  const log = () => {
    const { id, firstSeq, lastSeq } = servers;
    return Promise.resolve({ id, firstSeq, lastSeq: lastSeq - (Date.now() < untilMs ? 1 : 0) });
  };
  mirror.broken = { log };
  await mirror.start();
  await machines.pass(20_000);
  expect(missed()).toEqual([]);
  expect(mirror.isCurrent).toBe(true);
});

test('takes deliveries again that could not be appended', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  mirror.isDiskFull = true;
  await receiver.receive('a', 'b');
  await machines.pass(15_000);
  expect(mirror.ids).toEqual([]);
  expect(mirror.isCurrent).toBe(false);
  mirror.isDiskFull = false;
  await machines.pass(10_000);
  expect(mirror.ids).toEqual(['a', 'b']);
  expect(mirror.isCurrent).toBe(true);
});

test('stores the position with the rows: a kill at any moment repeats and loses nothing', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  const ids = Array.from({ length: 30 }, (_, at) => `d${String(at).padStart(2, '0')}`);
  for (const [at, id] of ids.entries()) {
    await receiver.receive(id);
    await machines.pass(7 * (at % 4));
    mirror.kill();
    await mirror.start();
    await machines.pass(3 * (at % 5));
  }
  await machines.pass(20_000);
  expect(mirror.ids).toEqual(ids);
});

test('a mirror whose reading is stuck sees from heartbeats that it is behind, and stays so when their receiver restarts', async () => {
  const [machines, receiver, , mirror] = await running('receiver', 'receiver', 'mirror');
  mirror.kill();
  // eslint-disable-next-line require-yield -- a server that delivers nothing
  const read = async function* () {
    await new Promise(() => undefined);
  };
  mirror.broken = { read };
  await mirror.start();
  await machines.pass(5_000);
  expect(mirror.isCurrent).toBe(true);
  await receiver.receive('a');
  await machines.pass(13_000);
  expect(mirror.isCurrent).toBe(false);
  receiver.kill();
  await receiver.start();
  await machines.pass(13_000);
  expect(mirror.isCurrent).toBe(false);
});

test('the restart of the only receiver is missed time for every mirror, also for one that is away', async () => {
  const [machines, receiver, mirror, away] = await running('receiver', 'mirror', 'mirror');
  const missed = [mirror, away].map(added);
  away.kill();
  receiver.kill();
  await receiver.start();
  await machines.pass(MINUTE);
  expect(missed[0]?.()).toEqual(['killed']);
  await away.start();
  await machines.pass(10_000);
  expect(missed[1]?.()).toEqual(['killed']);
});

test('a host that receives and mirrors does not take its own rows again', async () => {
  const [machines, both] = await running('both');
  const missed = added(both);
  both.kill();
  await both.start();
  await both.receive('a');
  await machines.pass(10_000);
  expect(missed()).toEqual(['killed']);
  expect(both.ids).toEqual(['a']);
  expect(both.isCurrent).toBe(true);
});

test('a host whose disk is an older copy takes its own rows again', async () => {
  const [machines, both, other] = await running('both', 'receiver');
  const missed = added(both);
  await both.stop();
  const restore = both.copyDisk();
  await both.start();
  await machines.pass(5_000);
  other.kill();
  await machines.pass(10_000);
  await other.start();
  await machines.pass(5_000);
  expect(missed()).toEqual(['stream_gap']);
  await both.stop();
  restore();
  await both.start();
  await machines.pass(5_000);
  expect(missed()).toEqual(['stream_gap']);
  expect(both.isCurrent).toBe(true);
});

test('the quick restart of one receiver of two is no missed time', async () => {
  const [machines, one, two, mirror] = await running('receiver', 'both', 'mirror');
  const missed = added(mirror);
  for (const receiver of [one, two]) {
    receiver.kill();
    await machines.pass(5_000);
    await receiver.start();
    await machines.pass(10_000);
    await receiver.stop();
    await machines.pass(MINUTE);
    expect(mirror.isCurrent).toBe(true);
    await receiver.start();
    await machines.pass(10_000);
  }
  expect(missed()).toEqual([]);
  expect(mirror.isCurrent).toBe(true);
});

test('a new receiver next to another one is no missed time', async () => {
  const [machines, , mirror] = await running('receiver', 'mirror');
  const missed = added(mirror);
  const other = machines.host('receiver');
  await other.start();
  await machines.pass(MINUTE);
  expect(missed()).toEqual([]);
  expect(mirror.isCurrent).toBe(true);
});

describe('a receiver that vanishes without a word', () => {
  test.each<[string, (receiver: Host) => Promise<void> | void]>([
    ['is killed', (receiver) => receiver.kill()],
    ['is cut off', (receiver) => void (receiver.isCut = true)],
    ['stands still', (receiver) => receiver.standStill(MINUTE)],
    [
      'loses its disk, and starts with an empty folder',
      async (receiver) => {
        receiver.lose();
        await receiver.start();
      },
    ],
  ])('and %s: every mirror reads everything, once, 7 s later', async (_, vanish) => {
    const [machines, one, , , mirror, both] = await running(
      'receiver',
      'receiver',
      'receiver',
      'mirror',
      'both',
    );
    one.refuses = (subject) => subject === 'deliveries';
    await one.receive('unpublished');
    const missed = [added(mirror), added(both)];
    await vanish(one);
    await machines.pass(6_000);
    expect(missed.map((whys) => whys())).toEqual([[], []]);
    await machines.pass(4_000);
    expect(missed.map((whys) => whys())).toEqual([['stream_gap'], ['stream_gap']]);
    await machines.pass(MINUTE / 2);
    expect(missed.map((whys) => whys())).toEqual([['stream_gap'], ['stream_gap']]);
    expect(mirror.isCurrent).toBe(true);
  });

  test('is accounted for by a receiver that started after it', async () => {
    const [machines, one, two, three, mirror] = await running('receiver', 'receiver', 'receiver', 'mirror');
    const missed = added(mirror);
    await three.stop();
    one.kill();
    await machines.pass(2_000);
    await three.start();
    await machines.pass(2_000);
    await two.stop();
    await machines.pass(10_000);
    expect(missed()).toEqual(['stream_gap']);
  });

  test('cannot be told from one that stops and does not publish its rest in time', async () => {
    const [machines, one, , mirror] = await running('receiver', 'receiver', 'mirror');
    const missed = added(mirror);
    one.refuses = (subject) => subject === 'deliveries';
    await one.receive('unpublished');
    await Promise.all([one.stop(), machines.pass(5_000)]);
    await machines.pass(10_000);
    expect(missed()).toEqual(['stream_gap']);
  });

  test('has not left because the stream has forgotten its heartbeats', async () => {
    const [machines, one, , mirror] = await running('receiver', 'receiver', 'mirror');
    const missed = added(mirror);
    one.refuses = (subject) => subject === 'deliveries';
    await one.receive('unpublished');
    one.kill();
    machines.servers.last.clear();
    await machines.pass(10_000);
    expect(missed()).toEqual(['stream_gap']);
  });

  test('is accounted for together with others that vanish at once', async () => {
    const [machines, one, two, , mirror] = await running('receiver', 'receiver', 'receiver', 'mirror');
    const missed = added(mirror);
    one.kill();
    two.kill();
    await machines.pass(20_000);
    expect(missed()).toEqual(['stream_gap']);
    expect(mirror.isCurrent).toBe(true);
  });

  test('is not gone if it comes back before the row about it is published, and may vanish again', async () => {
    const [machines, one, two, mirror] = await running('receiver', 'receiver', 'mirror');
    const missed = added(mirror);
    one.isCut = true;
    two.refuses = (subject) => subject === 'missed';
    await machines.pass(9_000);
    one.isCut = false;
    await machines.pass(3_000);
    two.refuses = () => false;
    while (missed().length === 0) await machines.pass(10);
    await machines.pass(100);
    one.refuses = () => true;
    await one.receive('unpublished');
    one.kill();
    await machines.pass(20_000);
    expect(missed()).toEqual(['stream_gap', 'stream_gap']);
    expect(mirror.isCurrent).toBe(true);
  });

  test('is not waited for by a mirror that did not hear that it is gone', async () => {
    const [machines, one, , mirror] = await running('receiver', 'receiver', 'mirror');
    mirror.isCut = true;
    await Promise.all([one.stop(), machines.pass(20_000)]);
    mirror.isCut = false;
    await machines.pass(5_000);
    expect(mirror.isCurrent).toBe(false);
    await machines.pass(10_000);
    expect(mirror.isCurrent).toBe(true);
  });

  test('is heard again, and what it answered meanwhile arrives before the mirror is current', async () => {
    const [machines, one, , mirror] = await running('receiver', 'receiver', 'mirror');
    one.isCut = true;
    await machines.pass(20_000);
    for (const id of ['a', 'b', 'c']) await one.receive(id);
    one.refuses = (subject) => subject === 'deliveries';
    one.isCut = false;
    await machines.pass(10_000);
    expect(mirror.isCurrent).toBe(false);
    one.refuses = () => false;
    await machines.pass(10_000);
    expect(mirror.ids).toEqual(['a', 'b', 'c']);
    expect(mirror.isCurrent).toBe(true);
  });
});

test('an outage of the servers is no missed time, however late the hosts come back', async () => {
  const [machines, one, two, mirror] = await running('receiver', 'receiver', 'mirror');
  const missed = added(mirror);
  machines.servers.isAway = true;
  await machines.pass(5 * MINUTE);
  for (const host of [one, two, mirror]) host.isCut = true;
  machines.servers.isAway = false;
  for (const host of [one, mirror, two]) {
    host.isCut = false;
    await machines.pass(3_000);
  }
  await machines.pass(10_000);
  expect(missed()).toEqual([]);
  expect(mirror.isCurrent).toBe(true);
});

test('after an outage, a mirror waits for receivers that started during it', async () => {
  const [machines, , mirror] = await running('receiver', 'mirror');
  machines.servers.isAway = true;
  await machines.pass(10_000);
  const other = machines.host('receiver');
  await other.start();
  await other.receive('a');
  await machines.pass(20_000);
  other.isCut = true;
  machines.servers.isAway = false;
  await machines.pass(4_000);
  expect(mirror.isCurrent).toBe(false);
  other.isCut = false;
  await currentOnlyWith(machines, mirror, ['a']);
});

describe('a receiver that cannot publish', () => {
  test('answers /healthz with 503 until the stream knows of it', async () => {
    const machines = new Machines();
    machines.servers.isAway = true;
    const receiver = machines.host('receiver');
    await receiver.start();
    expect(await receiver.health()).toBe(503);
    machines.servers.isAway = false;
    await machines.pass(10_000);
    expect(await receiver.health()).toBe(200);
  });

  test('answers /healthz with 503 after 5 s, and webhooks with 204', async () => {
    const [machines, receiver, other] = await running('receiver', 'receiver');
    const before = receiver.whys;
    receiver.isCut = true;
    await machines.pass(3_000);
    expect(await receiver.health()).toBe(200);
    await machines.pass(3_000);
    expect(await receiver.health()).toBe(503);
    expect(await other.health()).toBe(200);
    const answered = receiver.post('a');
    await machines.pass(100);
    expect(await answered).toBe(204);
    receiver.isCut = false;
    await machines.pass(5_000);
    expect(await receiver.health()).toBe(200);
    // The balancer had another receiver, or sent webhooks here all the same.
    expect(receiver.whys).toEqual(before);
  });

  test('includes one whose heartbeats are taken, and whose deliveries are not', async () => {
    const [machines, receiver] = await running('receiver');
    receiver.refuses = (subject) => subject === 'deliveries';
    await receiver.receive('a');
    await machines.pass(6_000);
    expect(await receiver.health()).toBe(503);
  });

  test('includes one whose deliveries are taken, and whose heartbeats are not: it counts as vanished', async () => {
    const [machines, receiver, other] = await running('receiver', 'receiver');
    receiver.refuses = (subject) => subject.startsWith('heartbeat.');
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) {
      await receiver.receive(id);
      await machines.pass(1_000);
    }
    expect(receiver.report.unpublishedRows).toBe(0);
    expect(await receiver.health()).toBe(503);
    expect(await other.health()).toBe(200);
  });
});

test('a receiver that stops in order has published everything, so that it need not come back', async () => {
  const [machines, receiver, other, mirror] = await running('receiver', 'receiver', 'mirror');
  const missed = added(mirror);
  const received = receiver.receive('a', 'b', 'c');
  await Promise.all([received, receiver.stop(), machines.pass(5_000)]);
  await other.receive('d');
  await machines.pass(MINUTE);
  expect(mirror.ids).toEqual(['a', 'b', 'c', 'd']);
  expect(missed()).toEqual([]);
});

test('a receiver stops in time although the servers are away', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  machines.servers.isAway = true;
  await receiver.receive('a');
  const startedAtMs = Date.now();
  const stopped = receiver.stop().then(() => Date.now());
  await machines.pass(5_000);
  expect((await stopped) - startedAtMs).toBeLessThan(4_000);
  machines.servers.isAway = false;
  await receiver.start();
  await machines.pass(10_000);
  expect(mirror.ids).toEqual(['a']);
});

test('two receivers that stop in order and start again at once leave missed time, however short', async () => {
  const [machines, one, two, mirror] = await running('receiver', 'receiver', 'mirror');
  const missed = added(mirror);
  await Promise.all([one.stop(), two.stop(), machines.pass(1)]);
  const closedAtMs = Date.now();
  await machines.pass(300);
  await one.start();
  await two.start();
  await machines.pass(2_000);
  expect(missed()).toContain('port_closed');
  const { sinceMs, untilMs } = mirror.missed.at(-1) ?? {};
  expect(sinceMs).toBeLessThanOrEqual(closedAtMs);
  expect(sinceMs).toBeGreaterThan(closedAtMs - 1_000);
  expect(untilMs).toBeGreaterThanOrEqual(closedAtMs + 300);
});

test('a receiver that is killed right before another one starts does not cover for it', async () => {
  const [machines, one, two, mirror] = await running('receiver', 'receiver', 'mirror');
  const missed = added(mirror);
  two.kill();
  await machines.pass(5_000);
  // Its last heartbeat is less than a second old.
  one.kill();
  await two.start();
  await machines.pass(8_000);
  expect(missed()).toEqual(['stream_gap']);
});

test('two receivers killed together both find the missed time, and wait for each other only for a moment', async () => {
  const [machines, one, two, mirror] = await running('receiver', 'receiver', 'mirror');
  const missed = added(mirror);
  one.kill();
  two.kill();
  await machines.pass(2_000);
  await one.start();
  await two.start();
  await machines.pass(6_000);
  expect(missed().length).toBeGreaterThan(0);
  await machines.pass(2_000);
  expect(mirror.isCurrent).toBe(true);
});

test('a passed socket that stayed open makes the restart of the only receiver no missed time', async () => {
  const { machines, receiver, missed } = await runningOnPassedSocket();
  await receiver.stop();
  await machines.pass(10_000);
  await receiver.start('passed');
  await machines.pass(10_000);
  expect(missed()).toEqual([]);
});

test('a stop that waits for hanging servers is no standstill', async () => {
  const { machines, receiver, missed } = await runningOnPassedSocket();
  await receiver.stop();
  receiver.broken = {
    log: () => new Promise(() => undefined),
    close: () => wait(100),
  };
  receiver.refuses = (subject) => subject === 'deliveries';
  await receiver.start('passed');
  await machines.pass(5_000);
  await receiver.receive('a');
  await machines.pass(990);
  await Promise.all([receiver.stop(), machines.pass(1_300)]);
  receiver.broken = {};
  receiver.refuses = () => false;
  await receiver.start('passed');
  await machines.pass(10_000);
  expect(missed()).toEqual([]);
});

test('a restart while the servers are away is missed time, also after a second one with an open socket', async () => {
  const { machines, receiver, missed } = await runningOnPassedSocket();
  machines.servers.isAway = true;
  await machines.pass(MINUTE);
  receiver.kill();
  await receiver.start('passed');
  await machines.pass(MINUTE);
  expect(receiver.report.hasCaughtUp).toBe(false);
  await Promise.all([receiver.stop(), machines.pass(1_000)]);
  await receiver.start('passed');
  await machines.pass(MINUTE);
  machines.servers.isAway = false;
  await machines.pass(20_000);
  expect(missed()).toEqual(['killed']);
});

test('a stall of the only receiver for more than 30 s is missed time, also in its first heartbeat', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  const missed = added(mirror);
  receiver.standStill(4_000);
  await machines.pass(10_000);
  expect(missed()).toEqual([]);
  receiver.standStill(31_000);
  await machines.pass(40_000);
  expect(missed()).toEqual(['unserved']);
  receiver.kill();
  const whileUnsure: string[] = [];
  receiver.refuses = (subject) => {
    if (!receiver.report.hasCaughtUp) whileUnsure.push(subject.replace(/\..*/, ''));
    return false;
  };
  let hasStoodStill = false;
  receiver.broken = {
    log: async () => {
      if (!hasStoodStill) {
        hasStoodStill = true;
        receiver.standStill(31_000);
        await wait(100);
      }
      return machines.servers.connect().log();
    },
  };
  await receiver.start();
  await machines.pass(50_000);
  expect(missed()).toEqual(['unserved', 'killed', 'unserved']);
  expect(whileUnsure).toEqual(['missed', 'missed']);
});

test('a short stall of one receiver of two is no missed time', async () => {
  const [machines, one, , mirror] = await running('receiver', 'receiver', 'mirror');
  const missed = added(mirror);
  one.standStill(5_000);
  await machines.pass(40_000);
  expect(missed()).toEqual([]);
});

/** Checks twenty times a second that the mirror is current only once it has these deliveries. */
async function currentOnlyWith(machines: Machines, mirror: Host, ids: readonly string[]): Promise<void> {
  for (let at = 0; at < 400; at += 1) {
    await machines.pass(50);
    if (mirror.isCurrent) expect(mirror.ids).toEqual(ids);
  }
  expect(mirror.isCurrent).toBe(true);
}

/** Its messages of the log arrive this late; everything else arrives at once. */
function readingLate(machines: Machines, lateMs: () => number): Host['broken'] {
  const engine = machines.servers.connect();
  return {
    read: async function* (fromSeq, signal) {
      for await (const message of engine.read(fromSeq, signal)) {
        // A process that stands still takes nothing.
        await wait(1);
        if (lateMs() > 0) await wait(lateMs());
        yield message;
      }
    },
  };
}

test('a mirror is not current after an outage before it has what receivers published meanwhile', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  mirror.kill();
  let lateMs = 0;
  mirror.broken = readingLate(machines, () => lateMs);
  await mirror.start();
  await machines.pass(20_000);
  expect(mirror.isCurrent).toBe(true);
  lateMs = 3_000;
  machines.servers.isAway = true;
  await machines.pass(5_000);
  await receiver.receive('a', 'b');
  await machines.pass(MINUTE);
  machines.servers.isAway = false;
  await currentOnlyWith(machines, mirror, ['a', 'b']);
});

test('a mirror that stood still is not current before it has what receivers published meanwhile', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  mirror.kill();
  let lateMs = 0;
  mirror.broken = readingLate(machines, () => lateMs);
  await mirror.start();
  await machines.pass(20_000);
  lateMs = 3_000;
  mirror.standStill(14_000);
  await machines.pass(3_000);
  await receiver.receive('a');
  await machines.pass(11_000);
  await currentOnlyWith(machines, mirror, ['a']);
});

test('a mirror that starts is not current before it has heard a receiver', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  mirror.kill();
  receiver.isCut = true;
  await receiver.receive('a');
  await mirror.start();
  await machines.pass(5_000);
  expect(mirror.isCurrent).toBe(false);
  receiver.isCut = false;
  await currentOnlyWith(machines, mirror, ['a']);
});

test('a thousand forgotten hosts cost a start one request, and no room in heartbeats', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  const missed = added(mirror);
  const engine = machines.servers.connect();
  const gone = Buffer.from('{"backlog_ms":0,"stream_seq":0,"is_gone":true,"starts":{}}');
  for (let at = 0; at < 1_000; at += 1) {
    await engine.publish(`start.forgotten-${at}`, Buffer.from('{"id":"x"}'));
    await engine.publish(`heartbeat.forgotten-${at}`, gone);
  }
  await machines.pass(20_000);
  const other = machines.host('receiver');
  const asked: string[] = [];
  other.broken = {
    last: (subject) => {
      asked.push(subject);
      return engine.last(subject);
    },
  };
  await other.start();
  await machines.pass(4_000);
  expect(await other.health()).toBe(200);
  expect(asked).toEqual(['heartbeat.*']);
  await machines.pass(10_000);
  const sent = [...machines.servers.last].filter(([subject]) => subject.startsWith('heartbeat.'));
  expect(sent.filter(([, { body: heartbeat }]) => heartbeat.byteLength > 200)).toEqual([]);
  expect(missed()).toEqual([]);
  expect(receiver.report.hasCaughtUp).toBe(true);
});

test('sends no heartbeat before missed time is in the stream, so that a kill in between does not hide it', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  const missed = added(mirror);
  receiver.refuses = (subject) => subject === 'missed';
  receiver.kill();
  await receiver.start();
  await machines.pass(MINUTE);
  expect(mirror.report.silentSinceMs).not.toBeNull();
  expect(missed()).toEqual([]);
  receiver.kill();
  receiver.refuses = () => false;
  await receiver.start();
  await machines.pass(10_000);
  expect(missed()).toContain('killed');
  expect(mirror.report.silentSinceMs).toBeNull();
});

test('sends no heartbeat before its first start is in the stream, and does not cover for another receiver', async () => {
  const [machines, one, two, mirror] = await running('receiver', 'receiver', 'mirror');
  const missed = added(mirror);
  one.kill();
  two.lose();
  await machines.pass(MINUTE);
  two.refuses = (subject) => subject === 'missed';
  await two.start();
  await machines.pass(5_000);
  expect(mirror.isCurrent).toBe(false);
  await Promise.all([two.stop(), machines.pass(2_000)]);
  expect(mirror.isCurrent).toBe(false);
  await two.start();
  await machines.pass(5_000);
  await one.start();
  await machines.pass(5_000);
  expect(missed()).toEqual(['stream_gap']);
});

test('a mirror shows the backlog of a receiver whose heartbeats arrive', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  const other = machines.host('receiver');
  receiver.refuses = (subject) => subject === 'deliveries';
  await receiver.receive('a');
  await machines.pass(MINUTE);
  expect(mirror.report).toMatchObject({ silentSinceMs: null, backlogSinceMs: expect.any(Number) });
  expect(mirror.isCurrent).toBe(false);
  // A receiver that is gone for long must not hold back the state of every mirror.
  await other.start();
  receiver.kill();
  await machines.pass(MINUTE);
  expect(mirror.isCurrent).toBe(true);
});

test('rows that wait while the clock of their host is set back have waited for an unknown time', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  receiver.refuses = (subject) => subject === 'deliveries';
  await receiver.receive('a');
  await machines.pass(1_000);
  receiver.offsetMs = -5 * MINUTE;
  await machines.pass(20_000);
  expect(mirror.report.silentSinceMs).toBeNull();
  expect(mirror.isCurrent).toBe(false);
  expect(await receiver.health()).toBe(503);
});

test('connects once the servers are reached', async () => {
  const machines = new Machines();
  const host = machines.host('both');
  let attempts = 0;
  host.connecting = () => (attempts += 1) > 3;
  await host.start();
  await host.receive('a');
  await machines.pass(30_000);
  expect(attempts).toBe(4);
  expect(machines.servers.log.filter(({ subject }) => subject === 'deliveries')).toHaveLength(1);
  expect(host.report.failure).toBeNull();
  expect(host.isCurrent).toBe(true);
});
