/**
 * Who may not sign may still connect: the service stays up, in bounded memory, and answers good deliveries in
 * time (docs/architecture.md#security).
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test, type TestContext } from 'vitest';
import { signBody } from '../../../src/store-api/signature.ts';
import {
  deliverBeside,
  figuresOf,
  diskWaitMs,
  isRefusedByDisk,
  watchDisk,
  type BareDisk,
  type Sent,
} from '../../hostile/beside.ts';
import { send } from '../../intake/intake.ts';
import { delivery, item } from '../../mirror/mirror-file.ts';
import { logRows, startBoth, temporaryFolder, type Owner, type RunningMirror } from '../harness.ts';

const FIXTURES = new URL('../../hostile/fixtures/', import.meta.url);
const FLOOD_MS = 3_000;
/** 128 MB of bodies may be on their way; the rest is what Node has not yet given back. */
const MAX_GROWTH_MB = 250;

/** A process of its own: what it costs must not slow down who measures. */
function hostile(test: Owner, fixture: string, ...args: readonly (number | string)[]): ChildProcess {
  const path = fileURLToPath(new URL(fixture, FIXTURES));
  const child = spawn(process.execPath, [path, ...args.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  test.onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

async function outputOf(child: ChildProcess): Promise<string> {
  const chunks: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(child, 'close');
  return Buffer.concat(chunks).toString();
}

/** Good deliveries one after the other, each of a variant of its own, until `over`. */
async function deliverUntil(over: Promise<unknown>, port: number, secret: string): Promise<Sent[]> {
  let isOver = false;
  void over.finally(() => (isOver = true));
  const answers: Sent[] = [];
  while (!isOver) {
    const id = String(50_000 + answers.length);
    const body = delivery(`good-${id}`, item({ id, update_time: Date.now() }));
    const headers = { 'x-service-signature': signBody(secret, body) };
    const sentAtMs = Date.now();
    const answer = await send(port, { method: 'POST', path: '/webhooks', headers, pieces: [body] });
    answers.push({ status: answer.status, sentAtMs, tookMs: answer.tookMs });
    await sleep(50);
  }
  return answers;
}

function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1_024;
}

/** Of all its threads, so far. */
function processorMs(pid: number): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(11, 13).map(Number);
  return ((user ?? 0) + (system ?? 0)) * 10;
}

/** @returns what to call for the growth up to then. */
function watchMemory(test: Owner, { pid }: RunningMirror): () => number {
  const beforeMb = residentMb(pid);
  let peakMb = beforeMb;
  const timer = setInterval(() => (peakMb = Math.max(peakMb, residentMb(pid))), 50);
  test.onTestFinished(() => clearInterval(timer));
  return () => {
    clearInterval(timer);
    return peakMb - beforeMb;
  };
}

/** All stored and in time, but for those that were refused because the disk itself kept everybody waiting. */
async function expectAllInTime(
  mirror: RunningMirror,
  answers: readonly Sent[],
  endOf: () => Promise<BareDisk>,
): Promise<void> {
  const disk = await endOf();
  const stored = answers.filter(({ status }) => status === 204);
  expect(answers.filter((one) => one.status !== 204 && !isRefusedByDisk(one, disk))).toEqual([]);
  expect(stored.length).toBeGreaterThan(5);
  expect(Math.max(...stored.map(({ tookMs }) => tookMs))).toBeLessThan(1_000);
  const [kept] = logRows<{ n: number }>(
    mirror.databasePath,
    `SELECT count(*) AS n FROM log WHERE kind = 'delivery'`,
  );
  // What was refused may be there a moment later.
  expect(kept?.n).toBeGreaterThanOrEqual(stored.length);
  expect(kept?.n).toBeLessThanOrEqual(answers.length);
  expect(mirror.stderr).toBe('');
}

test('970 connections that are silent, slow, oversized or broken are cut within 15 s', async (t) => {
  const { sandbox, mirror } = await startBoth(t);
  const port = Number(new URL(mirror.webhookUrl).port);
  const growthMb = watchMemory(t, mirror);
  const disk = watchDisk(temporaryFolder(t));
  const startedMs = performance.now();
  const connections = outputOf(hostile(t, 'many-connections.ts', port));
  const answers = await deliverUntil(connections, port, sandbox.webhookSecret);
  const tookMs = performance.now() - startedMs;
  expect(await connections).toBe('open\n');
  // The last ones by the 10 s that a whole request may take.
  expect(tookMs).toBeLessThan(15_000);
  await expectAllInTime(mirror, answers, disk);
  const grownMb = growthMb();
  expect(grownMb).toBeLessThan(MAX_GROWTH_MB);
  await t.annotate(
    `${answers.length} answered, ${Math.round(grownMb)} MB more, over after ${Math.round(tookMs)} ms`,
  );
}, 60_000);

for (const [name, bytes, connections, atLeast] of [
  ['small bodies', 300, 16, 1_000],
  ['bodies of 1 MB', 1 << 20, 8, 50],
] as const) {
  test(`a flood of wrongly signed ${name} is refused, and told in few words`, async (t) => {
    const { sandbox, mirror } = await startBoth(t);
    const port = Number(new URL(mirror.webhookUrl).port);
    const growthMb = watchMemory(t, mirror);
    const disk = watchDisk(temporaryFolder(t));
    const flood = outputOf(hostile(t, 'flood.ts', port, FLOOD_MS, bytes, connections));
    const answers = await deliverUntil(flood, port, sandbox.webhookSecret);
    const refused = Number(await flood);
    expect(refused).toBeGreaterThan(atLeast);
    await expectAllInTime(mirror, answers, disk);
    const grownMb = growthMb();
    expect(grownMb).toBeLessThan(MAX_GROWTH_MB);
    const told = mirror.log.filter((line) => line['unsigned'] !== undefined);
    expect(told.length).toBeGreaterThan(0);
    expect(told.length).toBeLessThan(3);
    await t.annotate(`${refused} refused, ${answers.length} answered, ${Math.round(grownMb)} MB more`);
  }, 60_000);
}

const LONG_FLOOD_MS = Number(process.env['FLOOD_MS'] ?? 60_000);
/**
 * Of the deliveries beside a flood: a figure of the whole minute, on a machine that does nothing else. A short flood
 * beside other work is held to the second that the store waits.
 */
const PROMPT_MS = process.env['FLOOD_MS'] === undefined ? 200 : 1_000;

/** All stored, and in time, but for what the disk did. */
async function expectPrompt(
  test: Pick<TestContext, 'annotate'>,
  sent: readonly Sent[],
  endOf: () => Promise<BareDisk>,
): Promise<void> {
  const disk = await endOf();
  const slowestMs = Math.max(...sent.map((one) => one.tookMs - diskWaitMs(one, disk)));
  await test.annotate(
    `slowest without the disk's own waits ${slowestMs.toFixed(0)} ms; slowest bare sync ${disk.maxMs} ms`,
  );
  const refused = sent.filter(({ status }) => status !== 204);
  expect(refused.filter((one) => !isRefusedByDisk(one, disk))).toEqual([]);
  expect(slowestMs).toBeLessThan(PROMPT_MS);
}

for (const kind of ['get', 'health', 'unsigned', 'signed'] as const) {
  test(`${kind} requests behind one another on one connection, 4 Mbit/s: 50 deliveries a second, each in time`, async (t) => {
    const { sandbox, mirror } = await startBoth(t);
    const port = Number(new URL(mirror.webhookUrl).port);
    const growthMb = watchMemory(t, mirror);
    const beforeMs = processorMs(mirror.pid);
    const disk = watchDisk(temporaryFolder(t));
    const flood = outputOf(hostile(t, 'pipelined.ts', port, LONG_FLOOD_MS, kind, 4_000));
    const sent = await deliverBeside(flood, { port, secret: sandbox.webhookSecret, perSecond: 50 });
    await t.annotate(
      `${figuresOf(sent)}; ${Math.round(growthMb())} MB and ${processorMs(mirror.pid) - beforeMs} ms of processor more; flood: ${await flood}`,
    );
    await expectPrompt(t, sent, disk);
  }, 120_000);
}

for (const from of ['127.0.0.1', '127.0.0.2']) {
  test(`a proxy with 500 deliveries a second on 16 connections is not harmed by a flood from ${from}`, async (t) => {
    const { sandbox, mirror } = await startBoth(t);
    const port = Number(new URL(mirror.webhookUrl).port);
    const disk = watchDisk(temporaryFolder(t));
    const flood = outputOf(
      hostile(t, 'pipelined.ts', port, Math.min(10_000, LONG_FLOOD_MS), 'unsigned', 4_000, from),
    );
    const secret = sandbox.webhookSecret;
    const sent = await deliverBeside(flood, { port, secret, perSecond: 500, keepAlive: 16 });
    await t.annotate(`${figuresOf(sent)}; flood: ${await flood}`);
    await expectPrompt(t, sent, disk);
  }, 60_000);
}

for (const kind of ['signed', 'unsigned'] as const) {
  test(`bodies that are held before their end, ${kind}: 3 deliveries a second, each in time`, async (t) => {
    const { sandbox, mirror } = await startBoth(t);
    const port = Number(new URL(mirror.webhookUrl).port);
    const growthMb = watchMemory(t, mirror);
    const beforeMs = processorMs(mirror.pid);
    const disk = watchDisk(temporaryFolder(t));
    const flood = outputOf(hostile(t, 'held-bodies.ts', port, LONG_FLOOD_MS, kind));
    const sent = await deliverBeside(flood, { port, secret: sandbox.webhookSecret, perSecond: 3 });
    await t.annotate(
      `${figuresOf(sent)}; ${Math.round(growthMb())} MB and ${processorMs(mirror.pid) - beforeMs} ms of processor more; flood: ${await flood}`,
    );
    await expectPrompt(t, sent, disk);
  }, 120_000);
}
