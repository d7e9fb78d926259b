/** Tells a slow disk from a slow mirror. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Sent {
  /** 0: no answer. */
  readonly status: number;
  readonly sentAtMs: number;
  readonly tookMs: number;
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
