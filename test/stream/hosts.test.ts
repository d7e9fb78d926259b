/** What heartbeats prove (src/stream/hosts.ts). */
import { expect, test } from 'vitest';
import { Hosts } from '../../src/stream/hosts.ts';

const START = 1_000_000;

interface Beat {
  readonly atMs: number;
  readonly streamSeq?: number;
  readonly backlogMs?: number;
  readonly isGone?: boolean;
}

function hear(hosts: Hosts, hostId: string, { atMs, streamSeq = 0, backlogMs = 0, isGone = false }: Beat) {
  const heartbeat = { backlog_ms: backlogMs, stream_seq: streamSeq, is_gone: isGone, starts: {} };
  hosts.heard(hostId, heartbeat, START + atMs);
}

/** Both are heard each second until then. */
function running(untilMs: number): Hosts {
  const hosts = new Hosts(START, 10);
  hosts.expect([], START);
  for (let atMs = 1_000; atMs <= untilMs; atMs += 1_000) {
    for (const hostId of ['one', 'two']) hear(hosts, hostId, { atMs, streamSeq: 10 });
  }
  return hosts;
}

const sureAfterMs = (hosts: Hosts, atMs = 60_000): number => hosts.sureUntilMs(START + atMs) - START;

test('everything is here as of a heartbeat whose number is reached, except the rows that waited', () => {
  const hosts = running(3_000);
  hear(hosts, 'one', { atMs: 4_000, streamSeq: 12 });
  hear(hosts, 'two', { atMs: 4_000, streamSeq: 11, backlogMs: 500 });
  expect(sureAfterMs(hosts)).toBe(3_000);
  hear(hosts, 'one', { atMs: 5_000, streamSeq: 14 });
  hosts.reached(12, false);
  expect(sureAfterMs(hosts)).toBe(3_500);
  hear(hosts, 'two', { atMs: 5_000, streamSeq: 11 });
  expect(sureAfterMs(hosts)).toBe(4_000);
});

test('a mirror that is always some seconds behind is sure of what it had some seconds ago', () => {
  const hosts = running(3_000);
  for (let atMs = 4_000; atMs <= 60_000; atMs += 1_000) {
    for (const hostId of ['one', 'two']) hear(hosts, hostId, { atMs, streamSeq: atMs });
    hosts.reached(atMs - 3_000, false);
  }
  expect(sureAfterMs(hosts)).toBe(57_000);
});

test('numbers of a log that was created again replace higher ones', () => {
  const hosts = running(3_000);
  for (const hostId of ['one', 'two']) hear(hosts, hostId, { atMs: 4_000, streamSeq: 99 });
  hosts.reached(2, true);
  for (const hostId of ['one', 'two']) hear(hosts, hostId, { atMs: 5_000, streamSeq: 100 });
  for (const hostId of ['one', 'two']) hear(hosts, hostId, { atMs: 6_000, streamSeq: 2 });
  expect(sureAfterMs(hosts)).toBe(6_000);
});

test('a host that has left is waited for until its last message is here', () => {
  const hosts = running(3_000);
  hear(hosts, 'one', { atMs: 3_500, streamSeq: 11, isGone: true });
  for (let atMs = 4_000; atMs <= 20_000; atMs += 1_000) hear(hosts, 'two', { atMs, streamSeq: 10 });
  expect(sureAfterMs(hosts)).toBe(3_000);
  hosts.reached(11, false);
  expect(sureAfterMs(hosts)).toBe(20_000);
  expect(hosts.present).toEqual(['two']);
});

test('heartbeats that arrive in the second after a standstill prove nothing', () => {
  const hosts = running(3_000);
  for (const hostId of ['one', 'two']) hear(hosts, hostId, { atMs: 17_000, streamSeq: 10 });
  expect(sureAfterMs(hosts)).toBe(3_000);
  for (const hostId of ['one', 'two']) hear(hosts, hostId, { atMs: 18_000, streamSeq: 10 });
  expect(sureAfterMs(hosts)).toBe(18_000);
});

test('a host is silent only for time in which others are heard', () => {
  const hosts = running(3_000);
  for (let atMs = 4_000; atMs <= 60_000; atMs += 1_000) hosts.look(START + atMs);
  for (let atMs = 61_000; atMs <= 67_000; atMs += 1_000) hear(hosts, 'two', { atMs, streamSeq: 10 });
  expect(hosts.silentFor(7_000)).toEqual([]);
  hear(hosts, 'two', { atMs: 68_000, streamSeq: 10 });
  expect(hosts.silentFor(7_000)).toEqual(['one']);
});

test('a clock that steps back does not make old evidence young for long', () => {
  const hosts = running(120_000);
  for (let atMs = 50_000; atMs <= 60_000; atMs += 1_000) hosts.look(START + atMs);
  expect(sureAfterMs(hosts)).toBe(50_000);
  expect(hosts.silentSinceMs(START + 60_000)).toBe(START + 50_000);
});
