/** Deliveries, downtime and state of several hosts (docs/architecture.md#several-machines). */
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { T0 } from '../mirror/mirror-file.ts';
import { Machines, type Host } from './host.ts';

const MINUTE = 60_000;
const DOWNTIME = {
  kind: 'missed',
  why: 'stream_gap',
  sinceMs: expect.any(Number),
  untilMs: expect.any(Number),
  variantIds: null,
};
const TURNED_AWAY = {
  kind: 'missed',
  why: 'turned_away',
  sinceMs: null,
  untilMs: T0,
  variantIds: null,
} as const;
const LOST = { lostSinceMs: expect.any(Number) };

const idOf = (sent: Uint8Array): string =>
  (JSON.parse(Buffer.from(sent).toString()) as { request_id: string }).request_id;

/** The hosts have run for a while, and their notices are forgotten. Their last heartbeats are half a second old. */
async function running<R extends ('receiver' | 'mirror' | 'both')[]>(
  ...roles: R
): Promise<[Machines, ...{ [K in keyof R]: Host }]> {
  const machines = new Machines();
  const hosts = roles.map((role) => machines.host(role));
  for (const host of hosts) await host.start();
  await machines.pass(30_500);
  for (const { notices } of hosts) notices.splice(0);
  return [machines, ...hosts] as unknown as [Machines, ...{ [K in keyof R]: Host }];
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
  expect(receiver.stream?.backlog).toEqual({ rows: 0, oldestAtMs: null });
  for (const { stream } of [receiver, mirror, both]) {
    expect(stream?.isCurrent).toBe(true);
    expect(stream?.facts()).toEqual({ silentSinceMs: null, failure: null, backlogSinceMs: null });
  }
});

test('keeps deliveries while the servers are away, and publishes them in order afterwards', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  machines.servers.isAway = true;
  const awayAtMs = Date.now();
  await receiver.receive('a', 'b');
  await receiver.receive('c');
  await machines.pass(5 * MINUTE);
  expect(receiver.stream?.backlog).toEqual({ rows: 3, oldestAtMs: awayAtMs });
  expect(receiver.stream?.facts()).toMatchObject({
    silentSinceMs: expect.any(Number),
    failure: 'the servers are away',
    backlogSinceMs: awayAtMs,
  });
  expect(mirror.stream?.facts().silentSinceMs).toBeLessThanOrEqual(awayAtMs);
  expect(mirror.stream?.isCurrent).toBe(false);
  machines.servers.isAway = false;
  await machines.pass(10_000);
  expect(mirror.ids).toEqual(['a', 'b', 'c']);
  expect(mirror.notices).toEqual([]);
  expect(mirror.stream?.isCurrent).toBe(true);
});

test('publishes unconfirmed deliveries again after a kill, and mirrors drop the doubles', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  await receiver.receive('a');
  await machines.pass(100);
  await receiver.kill();
  machines.servers.forgetIds();
  await receiver.start();
  await receiver.receive('b');
  await machines.pass(10_000);
  expect(machines.servers.log.filter(({ subject }) => subject === 'deliveries')).toHaveLength(3);
  expect(mirror.ids).toEqual(['a', 'b']);
});

test('publishes a refused delivery again, and none of those before it', async () => {
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

test('takes messages under way to a killed mirror again at once', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  mirror.diskMs = MINUTE;
  await receiver.receive('a', 'b');
  await machines.pass(1_000);
  mirror.diskMs = 0;
  await mirror.restart();
  await machines.pass(1_000);
  expect(mirror.ids).toEqual(['a', 'b']);
});

test('takes what came while the mirror was away, and sees no downtime in its restart', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  await mirror.kill();
  await receiver.receive('a');
  await machines.pass(5 * MINUTE);
  await mirror.start();
  expect(mirror.stream?.isCurrent).toBe(false);
  await machines.pass(2_000);
  expect(mirror.ids).toEqual(['a']);
  expect(mirror.notices).toEqual([]);
  expect(mirror.stream?.isCurrent).toBe(true);
});

test('makes a deleted consumer again from the place that was noted', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  await receiver.receive('a');
  await machines.pass(20_000);
  machines.servers.consumers.clear();
  await receiver.receive('b');
  await machines.pass(20_000);
  expect(mirror.ids).toEqual(['a', 'b']);
  expect(mirror.notices).toEqual([]);
});

test('a new mirror begins with a loss, at the end of the stream', async () => {
  const [machines, receiver] = await running('receiver');
  await receiver.receive('old');
  await machines.pass(1_000);
  const mirror = machines.host('mirror');
  await mirror.start();
  await machines.pass(1_000);
  await receiver.receive('new');
  await machines.pass(1_000);
  expect(mirror.notices).toEqual([{ lostSinceMs: 0 }]);
  expect(mirror.ids).toEqual(['new']);
});

test('a new mirror that is killed before it notes anything misses neither its first read nor a delivery', async () => {
  const [machines, receiver] = await running('receiver');
  const mirror = machines.host('mirror');
  await mirror.start();
  await machines.pass(500);
  await mirror.kill();
  mirror.notices.splice(0);
  await receiver.receive('a');
  await machines.pass(1_000);
  await mirror.start();
  await machines.pass(1_000);
  expect(mirror.notices).toEqual([LOST]);
  expect(mirror.ids).toEqual(['a']);
});

test.each<[string, (machines: Machines) => void]>([
  ['was created again', ({ servers }) => servers.recreate()],
  ['has dropped messages', ({ servers }) => servers.expireBefore(servers.lastSeq + 1)],
])('a mirror that comes back to a stream that %s reports one loss', async (_, happen) => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  await mirror.kill();
  const awayAtMs = Date.now();
  await receiver.receive('a', 'b');
  await machines.pass(MINUTE);
  happen(machines);
  await mirror.start();
  await receiver.receive('c');
  await machines.pass(MINUTE);
  expect(mirror.notices).toEqual([LOST]);
  expect((mirror.notices[0] as { lostSinceMs: number }).lostSinceMs).toBeLessThanOrEqual(awayAtMs);
  await receiver.receive('d');
  await machines.pass(MINUTE);
  await mirror.restart();
  await machines.pass(MINUTE);
  expect(mirror.notices).toEqual([LOST]);
  expect(mirror.ids.at(-1)).toBe('d');
});

test('takes a delivery again that could not be appended, and a notice that the mirror could not take', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  mirror.isDiskFull = true;
  mirror.isMirrorBroken = true;
  await receiver.receive('a');
  await receiver.stream?.append({ ...TURNED_AWAY, atMs: Date.now() });
  const sinceMs = Date.now();
  await machines.pass(15_000);
  expect(mirror.ids).toEqual([]);
  expect(mirror.stream?.facts().backlogSinceMs).toBe(sinceMs);
  mirror.isDiskFull = false;
  mirror.isMirrorBroken = false;
  await machines.pass(10_000);
  expect(mirror.ids).toEqual(['a']);
  expect(mirror.notices).toEqual([TURNED_AWAY]);
  expect(mirror.stream?.facts().backlogSinceMs).toBeNull();
});

test('a mirror that appends too slowly is not current', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  await mirror.kill();
  mirror.broken = {
    consume: (name, onMessage) =>
      machines.servers.connect().consume(name, (message) => onMessage({ ...message, left: 1 })),
  };
  await mirror.start();
  await machines.pass(1_000);
  expect(mirror.stream?.isCurrent).toBe(true);
  mirror.diskMs = 15_000;
  await receiver.receive('a');
  await machines.pass(12_000);
  expect(mirror.stream?.isCurrent).toBe(false);
  await machines.pass(12_000);
  expect(mirror.stream?.isCurrent).toBe(true);
});

test('the restart of the only receiver is a downtime for every mirror, also one that is away', async () => {
  const [machines, receiver, mirror, away] = await running('receiver', 'mirror', 'mirror');
  await away.kill();
  await receiver.restart();
  await machines.pass(MINUTE);
  expect(mirror.notices).toEqual([DOWNTIME]);
  await away.start();
  await machines.pass(10_000);
  expect(away.notices).toEqual([DOWNTIME]);
});

test('the restart of one receiver of two is no downtime, and that of both together is one', async () => {
  const [machines, one, two, mirror] = await running('receiver', 'both', 'mirror');
  for (const receiver of [one, two]) {
    await receiver.kill();
    await machines.pass(MINUTE);
    await receiver.start();
    await machines.pass(10_000);
  }
  expect(mirror.notices).toEqual([]);
  await one.kill();
  await two.kill();
  await machines.pass(10_000);
  await one.start();
  await machines.pass(10_000);
  await two.start();
  await machines.pass(10_000);
  expect(mirror.notices).toEqual([DOWNTIME]);
});

test('a socket that stayed open makes the restart of the only receiver no downtime', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  await receiver.kill();
  await machines.pass(10_000);
  await receiver.start({ isInherited: true });
  await machines.pass(10_000);
  expect(mirror.notices).toEqual([]);
});

test('a restart while the servers are away is a downtime, also after a second one with an open socket', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  machines.servers.isAway = true;
  await machines.pass(MINUTE);
  await receiver.restart();
  await machines.pass(MINUTE);
  await receiver.restart({ isInherited: true });
  await machines.pass(MINUTE);
  machines.servers.isAway = false;
  await machines.pass(20_000);
  expect(mirror.notices).toEqual([DOWNTIME]);
});

test('a standstill of the only receiver is a downtime, also in the middle of its first heartbeat', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  receiver.stream?.stoodStill(Date.now() - 400);
  await machines.pass(10_000);
  expect(mirror.notices).toEqual([DOWNTIME]);
  await receiver.kill();
  let hasStoodStill = false;
  receiver.broken = {
    last: async (subject) => {
      const found = await machines.servers.connect().last(subject);
      if (subject !== 'heartbeat.*') return found;
      await wait(100);
      if (!hasStoodStill) receiver.stream?.stoodStill(Date.now() - 100);
      hasStoodStill = true;
      return found;
    },
  };
  await receiver.start();
  await machines.pass(10_000);
  expect(mirror.notices).toEqual([DOWNTIME, DOWNTIME, DOWNTIME]);
});

test('sends no heartbeat before a downtime is in the stream, so that a kill in between does not hide it', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  receiver.refuses = (subject) => subject === 'notices';
  await receiver.restart();
  await machines.pass(MINUTE);
  expect(mirror.stream?.facts().silentSinceMs).not.toBeNull();
  await receiver.kill();
  receiver.refuses = () => false;
  await receiver.start();
  await machines.pass(10_000);
  expect(mirror.notices).toEqual([DOWNTIME]);
  expect(mirror.stream?.facts().silentSinceMs).toBeNull();
});

test('a mirror shows the backlog of a receiver whose heartbeats arrive', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  const other = machines.host('receiver');
  receiver.refuses = (subject) => subject === 'deliveries';
  await receiver.receive('a');
  await machines.pass(MINUTE);
  expect(mirror.stream?.facts()).toMatchObject({ silentSinceMs: null, backlogSinceMs: expect.any(Number) });
  expect(mirror.stream?.isCurrent).toBe(false);
  // A receiver that is gone for long must not hold back the state of every mirror.
  await other.start();
  await receiver.kill();
  await machines.pass(MINUTE);
  expect(mirror.stream?.isCurrent).toBe(true);
});

test('connects once the servers are reached, and refuses notices until then', async () => {
  const machines = new Machines();
  const host = machines.host('both');
  let attempts = 0;
  host.connecting = () => (attempts += 1) > 3;
  await host.start();
  await expect(host.stream?.append({ ...TURNED_AWAY, atMs: T0 })).rejects.toThrow('not been reached');
  await host.receive('a');
  await machines.pass(30_000);
  expect(attempts).toBe(4);
  expect(machines.servers.log).toHaveLength(1);
  expect(host.stream?.facts().failure).toBeNull();
});
