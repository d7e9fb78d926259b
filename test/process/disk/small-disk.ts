/** A file system of a few megabytes, which only a superuser may mount. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Owner } from '../harness.ts';

interface SmallDisk {
  readonly folder: string;
  fill(): void;
  free(): void;
}

const BLOCK_BYTES = 4_096;

function mount(folder: string, bytes: number, inodes?: number): void {
  const options = inodes === undefined ? `size=${bytes}` : `size=${bytes},nr_inodes=${inodes}`;
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'pipe' });
}

function write(path: string, bytes: number): boolean {
  try {
    writeFileSync(path, Buffer.alloc(bytes, 1));
    return true;
  } catch {
    return false;
  }
}

export function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-mount-'));
  try {
    mount(folder, BLOCK_BYTES);
    execFileSync('umount', [folder], { stdio: 'pipe' });
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param inodes how many files it holds, with its root. */
export function smallDisk(test: Owner, bytes: number, inodes?: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-disk-'));
  mount(folder, bytes, inodes);
  test.onTestFinished(() => {
    // Lazily: a killed process may still be ending.
    execFileSync('umount', ['-l', folder], { stdio: 'pipe' });
    rmSync(folder, { recursive: true, force: true });
  });
  const ballast = (part: number): string => join(folder, `ballast-${part}`);
  return {
    folder,
    fill: () => {
      const { bavail, bsize } = statfsSync(folder);
      // Other writers may take the room first; small files take the rest.
      if (!write(ballast(0), bavail * bsize)) return;
      for (let part = 1; write(ballast(part), BLOCK_BYTES);) part += 1;
    },
    free: () => {
      for (let part = 0; existsSync(ballast(part)); part += 1) rmSync(ballast(part));
    },
  };
}
