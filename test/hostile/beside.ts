/** Good deliveries beside whatever else goes on: sent at their own pace, each timed, over connections that are kept alive. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { signBody } from '../../src/store-api/signature.ts';
import { delivery, item } from '../mirror/mirror-file.ts';

export interface Sent {
  /** 0: no answer. */
  readonly status: number;
  readonly sentAtMs: number;
  readonly tookMs: number;
}

interface GoodSender {
  readonly port: number;
  readonly secret: string;
  readonly perSecond: number;
  /** Connections that it keeps alive. Without: one for each delivery. */
  readonly keepAlive?: number;
  readonly localAddress?: string;
}

const TICK_MS = 5;
let n = 0;

/** Sends until `over`, whatever the answers; each delivery is of a variant of its own. */
export async function deliverBeside(over: Promise<unknown>, sender: GoodSender): Promise<Sent[]> {
  const { keepAlive } = sender;
  const agent =
    keepAlive === undefined
      ? new Agent({ keepAlive: false })
      : new Agent({ keepAlive: true, maxSockets: keepAlive });
  let isOver = false;
  void over.finally(() => (isOver = true));
  const answers: Promise<Sent>[] = [];
  const startedMs = performance.now();
  while (!isOver) {
    const due = ((performance.now() - startedMs) * sender.perSecond) / 1_000;
    while (answers.length < due) answers.push(deliver(sender, agent));
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  const all = await Promise.all(answers);
  agent.destroy();
  return all;
}

function deliver({ port, secret, localAddress }: GoodSender, agent: Agent): Promise<Sent> {
  n += 1;
  const body = delivery(`beside-${n}`, item({ id: String(50_000 + n), update_time: Date.now() }));
  const headers = { 'x-service-signature': signBody(secret, body), 'content-length': body.byteLength };
  return new Promise((resolve) => {
    const sentAtMs = Date.now();
    const startedMs = performance.now();
    const done = (status: number): void =>
      resolve({ status, sentAtMs, tookMs: performance.now() - startedMs });
    const options = { port, host: '127.0.0.1', method: 'POST', path: '/webhooks', headers, agent };
    const outgoing = request(
      { ...options, ...(localAddress === undefined ? {} : { localAddress }) },
      (incoming) => incoming.resume().on('end', () => done(incoming.statusCode ?? 0)),
    );
    outgoing.on('error', () => done(0)).end(body);
  });
}

/** For a test's annotation. */
export function figuresOf(sent: readonly Sent[]): string {
  const times = sent.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
  const at = (share: number): string => (times[Math.floor(share * (times.length - 1))] ?? 0).toFixed(1);
  const refused = sent.filter(({ status }) => status !== 204).length;
  return `${sent.length} deliveries, ${refused} not 204, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms`;
}

/** How long the disk itself kept everybody waiting, as a process of its own found that syncs one page at a time. */
export interface BareDisk {
  readonly slow: readonly { readonly fromMs: number; readonly untilMs: number }[];
  readonly maxMs: number;
}

/** @param folder on the disk in question. @returns what to call for the syncs up to then. */
export function watchDisk(folder: string): () => Promise<BareDisk> {
  const fixture = fileURLToPath(new URL('fixtures/bare-disk.ts', import.meta.url));
  const child = spawn(process.execPath, [fixture, join(folder, 'bare-disk')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  return async () => {
    child.stdin.end();
    await once(child, 'close');
    const lines = output.split('\n');
    const slow = lines
      .filter((line) => line.startsWith('['))
      .map((line) => JSON.parse(line) as [endMs: number, tookMs: number])
      .map(([endMs, tookMs]) => ({ fromMs: endMs - tookMs, untilMs: endMs }));
    return { slow, maxMs: Number(lines.find((line) => line.startsWith('max '))?.slice(4)) };
  };
}

/** A delivery is refused when its commit takes 800 ms: more of it than this was the disk's. */
const REFUSED_BY_DISK_MS = 600;

/** Refused because the disk kept everybody waiting, whoever synced (896 ms were seen with nothing else on the machine). */
export function isRefusedByDisk(one: Sent, disk: BareDisk): boolean {
  return one.status === 503 && diskWaitMs(one, disk) > REFUSED_BY_DISK_MS;
}

/** How much of the time that the answer took the disk kept anybody waiting who synced. */
export function diskWaitMs({ sentAtMs, tookMs }: Sent, { slow }: BareDisk): number {
  const untilMs = sentAtMs + tookMs;
  const waits = slow.map((sync) => Math.min(untilMs, sync.untilMs) - Math.max(sentAtMs, sync.fromMs));
  return waits.reduce((sum, wait) => sum + Math.max(0, wait), 0);
}
