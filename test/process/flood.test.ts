/**
 * Who may not sign may still connect: the service stays up, in bounded memory, and answers good deliveries in
 * time (docs/architecture.md#security).
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { signBody } from '../../src/service/signature.ts';
import { send, type Answer } from '../intake/intake.ts';
import { delivery, item } from '../store/mirror-file.ts';
import { rows, startBoth, type Owner, type RunningMirror } from './harness.ts';

const FIXTURES = new URL('../hostile/fixtures/', import.meta.url);
const FLOOD_MS = 3_000;
/** 128 MB of bodies may be on their way; the rest is what Node has not yet given back. */
const MAX_GROWTH_MB = 250;

/** A process of its own: what it costs must not slow down who measures. */
function hostile(test: Owner, fixture: string, ...args: readonly number[]): ChildProcess {
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
async function deliverUntil(over: Promise<unknown>, port: number, secret: string): Promise<Answer[]> {
  let isOver = false;
  void over.finally(() => (isOver = true));
  const answers: Answer[] = [];
  while (!isOver) {
    const id = String(50_000 + answers.length);
    const body = delivery(`good-${id}`, item({ id, update_time: Date.now() }));
    const headers = { 'x-service-signature': signBody(secret, body) };
    answers.push(await send(port, 'POST', '/webhooks', headers, [body]));
    await sleep(50);
  }
  return answers;
}

function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1_024;
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

function expectAllInTime(mirror: RunningMirror, answers: readonly Answer[]): void {
  expect(answers.length).toBeGreaterThan(5);
  expect(answers.filter(({ status }) => status !== 204)).toEqual([]);
  expect(Math.max(...answers.map(({ tookMs }) => tookMs))).toBeLessThan(1_000);
  const kept = `SELECT count(*) AS n FROM log WHERE kind = 'delivery'`;
  expect(rows(mirror.databasePath, kept)).toEqual([{ n: answers.length }]);
  expect(mirror.stderr).toBe('');
}

test('a crowd of 970 connections that are silent, slow, oversized or broken is cut within 15 s', async (t) => {
  const { sandbox, mirror } = await startBoth(t);
  const port = Number(new URL(mirror.webhookUrl).port);
  const growthMb = watchMemory(t, mirror);
  const startedMs = performance.now();
  const crowd = outputOf(hostile(t, 'crowd.ts', port));
  const answers = await deliverUntil(crowd, port, sandbox.webhookSecret);
  const tookMs = performance.now() - startedMs;
  expect(await crowd).toBe('open\n');
  // The last ones by the 10 s that a whole request may take.
  expect(tookMs).toBeLessThan(15_000);
  expectAllInTime(mirror, answers);
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
    const flood = outputOf(hostile(t, 'flood.ts', port, FLOOD_MS, bytes, connections));
    const answers = await deliverUntil(flood, port, sandbox.webhookSecret);
    const refused = Number(await flood);
    expect(refused).toBeGreaterThan(atLeast);
    expectAllInTime(mirror, answers);
    const grownMb = growthMb();
    expect(grownMb).toBeLessThan(MAX_GROWTH_MB);
    const told = mirror.log.filter((line) => line['unsigned'] !== undefined);
    expect(told.length).toBeGreaterThan(0);
    expect(told.length).toBeLessThan(3);
    await t.annotate(`${refused} refused, ${answers.length} answered, ${Math.round(grownMb)} MB more`);
  }, 60_000);
}
