/** Proof of the way in across the hosts of a stream (docs/operating.md#proof-of-the-way-in). */
import { expect, test } from 'vitest';
import { Machines, type Host, type Role } from './host.ts';

/** The hosts have run for a while, and none has received anything. */
async function running<R extends Role[]>(...roles: R): Promise<[Machines, ...{ [K in keyof R]: Host }]> {
  const machines = new Machines();
  const hosts = roles.map((role) => machines.host(role));
  for (const host of hosts) {
    await host.start();
    await machines.pass(10_000);
  }
  return [machines, ...hosts] as unknown as [Machines, ...{ [K in keyof R]: Host }];
}

const json = (value: object): Uint8Array => Buffer.from(JSON.stringify(value));

test('the proof of a receiver counts for mirrors that start later, and after restarts of both', async () => {
  const [machines, receiver] = await running('receiver');
  expect(await receiver.post('a')).toBe(204);
  await machines.pass(5_000);
  const mirror = machines.host('mirror');
  await mirror.start();
  await machines.pass(5_000);
  expect(mirror.ids).toEqual([]);
  expect(mirror.report.isProven).toBe(true);
  mirror.kill();
  await mirror.start();
  expect(mirror.report.isProven).toBe(false);
  await machines.pass(2_000);
  expect(mirror.report.isProven).toBe(true);
  receiver.kill();
  await receiver.start();
  await machines.pass(10_000);
  expect(mirror.report.isProven).toBe(true);
});

test('the proof of a receiver that is silent, or has closed its port, does not count', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  await receiver.post('a');
  await machines.pass(2_000);
  expect(mirror.report.isProven).toBe(true);
  receiver.kill();
  await machines.pass(8_000);
  expect(mirror.report.isProven).toBe(false);
  await receiver.start();
  await machines.pass(10_000);
  expect(mirror.report.isProven).toBe(true);
  await Promise.all([receiver.stop(), machines.pass(100)]);
  expect(mirror.report).toMatchObject({ isProven: false, silentSinceMs: null });
});

test('a proof counts no longer once its secret was replaced', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  await receiver.post('a');
  await machines.pass(2_000);
  await Promise.all([receiver.stop(), machines.pass(1_000)]);
  receiver.secret = 'another';
  await receiver.start();
  await machines.pass(10_000);
  expect(mirror.report.isProven).toBe(false);
  expect(await receiver.post('b', { secret: 'secret' })).toBe(401);
  await machines.pass(2_000);
  expect(mirror.report.isProven).toBe(false);
  expect(await receiver.post('c')).toBe(204);
  await machines.pass(2_000);
  expect(mirror.report.isProven).toBe(true);
});

test('a test delivery proves nothing to other hosts, and a webhook of the store does', async () => {
  const [machines, receiver, mirror, both] = await running('receiver', 'mirror', 'both');
  expect(await receiver.post('test', { isTest: true })).toBe(204);
  await machines.pass(5_000);
  for (const host of [mirror, both]) {
    expect(host.ids).toEqual(['test']);
    expect(host.report).toMatchObject({ isProven: false, acceptedAtMs: null });
  }
  await receiver.post('a');
  await receiver.post('b');
  const acceptedAtMs = Date.now();
  await machines.pass(2_000);
  for (const host of [mirror, both]) {
    expect(host.report.isProven).toBe(true);
    expect(host.report.acceptedAtMs).toBeGreaterThanOrEqual(acceptedAtMs);
    expect(host.report.acceptedCount).toBe(2);
  }
});

test('webhooks that another host accepted before this one started are no proof of a later time', async () => {
  const [machines, receiver] = await running('receiver');
  await receiver.post('a');
  const both = machines.host('both');
  await both.start();
  await machines.pass(10_000);
  expect(both.report.acceptedAtMs).toBeNull();
  receiver.kill();
  await receiver.start();
  await machines.pass(10_000);
  expect(both.report.acceptedAtMs).toBeNull();
  await receiver.post('b');
  await machines.pass(2_000);
  expect(both.report.acceptedAtMs).not.toBeNull();
});

test('a proof counts once what may have been missed before it has arrived', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  receiver.refuses = (subject) => subject === 'missed';
  await receiver.post('a');
  await machines.pass(5_000);
  expect(mirror.report.isProven).toBe(false);
  mirror.isDiskFull = true;
  receiver.refuses = () => false;
  await machines.pass(5_000);
  expect(mirror.whys).not.toContain('unproven');
  expect(mirror.report.isProven).toBe(false);
  mirror.isDiskFull = false;
  await machines.pass(5_000);
  expect(mirror.whys).toContain('unproven');
  expect(mirror.report.isProven).toBe(true);
});

test('a host whose messages are not understood holds up no other one', async () => {
  const machines = new Machines();
  const engine = machines.servers.connect();
  await engine.publish('heartbeat.strange', json({ strange: true }));
  await engine.publish('start.strange', json({ strange: true }));
  const [receiver, mirror] = [machines.host('receiver'), machines.host('mirror')];
  await receiver.start();
  await mirror.start();
  await machines.pass(10_000);
  expect(receiver.isCurrent).toBe(true);
  expect(mirror.isCurrent).toBe(true);
});

test('mirrors hear what a receiver has refused, until the stream says what may have been missed', async () => {
  const [machines, receiver, mirror] = await running('receiver', 'mirror');
  await receiver.post('a');
  expect(await receiver.post('b', { secret: 'of another time' })).toBe(401);
  const atMs = Date.now();
  await machines.pass(3_000);
  const [refused] = mirror.report.refusedWebhooks;
  expect(refused).toMatchObject({ reason: 'wrong_signature', count: 1, variantIds: ['100'] });
  expect(refused?.sinceMs).toBeGreaterThanOrEqual(atMs);
  await machines.pass(10_000);
  expect(mirror.report.refusedWebhooks).toEqual([refused]);
  receiver.refuses = (subject) => subject === 'missed';
  await receiver.post('c');
  await machines.pass(5_000);
  expect(mirror.report.refusedWebhooks).toHaveLength(1);
  receiver.refuses = () => false;
  await machines.pass(10_000);
  expect(mirror.whys).toContain('refused');
  expect(mirror.report.refusedWebhooks).toEqual([]);
});

test('mirrors hear of refused webhooks until the receiver accepts one with its corrected secret', async () => {
  const [machines, one, two, mirror] = await running('receiver', 'receiver', 'mirror');
  await two.post('a');
  expect(await one.post('b', { secret: 'that one lacks' })).toBe(401);
  await machines.pass(3_000);
  await Promise.all([one.stop(), machines.pass(1_000)]);
  one.secret = 'that one lacks';
  await one.start();
  await machines.pass(10_000);
  // No missed time: the other receiver listened.
  expect(mirror.whys.at(-1)).toBe('unproven');
  expect(mirror.report).toMatchObject({ isProven: true, refusedWebhooks: [{ variantIds: ['100'] }] });
  expect(await one.post('c')).toBe(204);
  await machines.pass(10_000);
  expect(mirror.whys.slice(-2)).toEqual(['unproven', 'refused']);
  expect(mirror.report.refusedWebhooks).toEqual([]);
});
