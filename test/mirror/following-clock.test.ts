/** Deliveries are stamped by the receiver's clock, reads by the mirror's (docs/architecture.md#own-clock). */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { REPLICA_LAG_MS } from '../../src/core/limits.ts';
import { FollowingClock } from '../../src/mirror/following-clock.ts';
import { OwnClock, type ClockReading } from '../../src/platform/own-clock.ts';

const WALL = 1_790_000_000_000;
const DAY_MS = 24 * 60 * 60_000;

function machine(bootId = 'boot-1') {
  const at = { wallMs: WALL, sinceBootMs: 50_000 };
  const pass = (ms: number): void => {
    at.wallMs += ms;
    at.sinceBootMs += ms;
  };
  return { at, pass, host: { wallMs: () => at.wallMs, sinceBootMs: () => at.sinceBootMs, bootId } };
}

test('is not ahead of the receiver after a hang that followed a wall clock set back', () => {
  const { host, at, pass } = machine();
  const receiver = new OwnClock(host, null);
  const mirror = new FollowingClock(host, receiver.reading());
  at.wallMs -= 25_000;
  for (const ms of [1_000, 200_000, 1_000, 1_000, 1_000]) {
    pass(ms);
    mirror.now();
    receiver.approach();
    expect(mirror.follow(receiver.reading())).toBe(0);
    expect(mirror.now()).toBeLessThanOrEqual(receiver.now());
  }
  expect(receiver.now() - mirror.now()).toBeLessThan(400);
});

test('shows the time of a receiver that writes each second, within a slew', () => {
  const { host, pass } = machine();
  const receiver = new OwnClock(host, null);
  const mirror = new FollowingClock(host, receiver.reading());
  for (let n = 0; n < 10; n += 1) {
    pass(1_000);
    receiver.approach();
    mirror.follow(receiver.reading());
    pass(n * 10);
    const behindMs = receiver.now() - mirror.now();
    expect(behindMs).toBeGreaterThanOrEqual(0);
    expect(behindMs).toBeLessThanOrEqual(120);
  }
});

test('steps back with the receiver', () => {
  const { host, at, pass } = machine();
  const receiver = new OwnClock(host, null);
  const mirror = new FollowingClock(host, receiver.reading());
  mirror.now();
  at.wallMs -= DAY_MS;
  pass(1_000);
  receiver.approach();
  expect(mirror.follow(receiver.reading())).toBeGreaterThan(DAY_MS - 2_000);
  expect(mirror.now()).toBe(receiver.now());
});

test('steps back with the receiver in the millisecond in which it began', () => {
  const { host, at } = machine();
  const receiver = new OwnClock(host, null);
  const mirror = new FollowingClock(host, receiver.reading());
  mirror.now();
  at.wallMs -= DAY_MS;
  receiver.approach();
  expect(mirror.follow(receiver.reading())).toBe(DAY_MS);
});

test('steps back to a receiver that begins behind it', () => {
  const { host, at, pass } = machine();
  const last = { clockMs: WALL + 20_000, sinceBootMs: 1, bootId: 'earlier' };
  const mirror = new FollowingClock(host, last);
  pass(10_000);
  expect(mirror.now()).toBe(WALL + 31_000);
  const receiver = new OwnClock(host, last);
  expect(mirror.follow(receiver.reading())).toBe(10_000);
  expect(mirror.now()).toBe(receiver.now());
  expect(at.wallMs).toBe(WALL + 10_000);
});

test('does not follow a reading of an earlier boot', () => {
  const { host } = machine('boot-2');
  const clock = new FollowingClock(host, null);
  expect(clock.follow({ clockMs: WALL - DAY_MS, sinceBootMs: 1, bootId: 'boot-1' })).toBe(0);
  expect(clock.now()).toBe(WALL);
});

const event = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 3_000 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 300_000 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('set' as const),
      ms: fc.integer({ min: -59_000, max: 60_000 }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom('beat', 'unwritten', 'follow') }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom('arrive', 'send') }) },
);

test('never makes a read seem to be sent REPLICA_LAG_MS after a delivery that is younger', () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      const { host, at, pass } = machine();
      const receiver = new OwnClock(host, null);
      let reading = receiver.reading();
      const mirror = new FollowingClock(host, reading);
      // Until the mirror has followed a step back. It is then opened again, and everything is suspect.
      let isStepping = false;
      let stepReading: ClockReading | null = null;
      let arrivals: { readonly trueMs: number; readonly stampMs: number }[] = [];
      for (const each of events) {
        switch (each.kind) {
          case 'pass':
            pass(each.ms);
            break;
          case 'set':
            at.wallMs += each.ms;
            break;
          // A heartbeat whose commit fails moves the clock, too.
          case 'beat':
          case 'unwritten':
            if (receiver.approach() > 0) isStepping = true;
            if (each.kind === 'beat') reading = receiver.reading();
            if (each.kind === 'beat' && isStepping) stepReading = reading;
            break;
          case 'follow':
            if (mirror.follow(reading) > 0) arrivals = [];
            if (isStepping && reading === stepReading) isStepping = false;
            break;
          case 'arrive':
            arrivals.push({ trueMs: at.sinceBootMs, stampMs: receiver.now() });
            break;
          case 'send': {
            const sentAtMs = mirror.now();
            if (isStepping) break;
            for (const { trueMs, stampMs } of arrivals) {
              if (sentAtMs < stampMs + REPLICA_LAG_MS) continue;
              expect(at.sinceBootMs - trueMs).toBeGreaterThanOrEqual(REPLICA_LAG_MS);
            }
          }
        }
      }
    }),
    { numRuns: 2_000 },
  );
});
