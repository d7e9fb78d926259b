/** A preloaded library makes fsync fail or take long. */
import { execFileSync, spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../harness.ts';

const SOURCE = fileURLToPath(new URL('fixtures/failing-fsync.c', import.meta.url));
const FLAGS = { fails: 'FSYNC_FAILS_WHILE', slow: 'FSYNC_IS_SLOW_WHILE' } as const;

export const canBeOdd = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0;
export const needsForOdd = canBeOdd ? '' : ' (skipped: needs Linux and a C compiler)';

interface OddDisk {
  readonly env: Environment;
  begin(): void;
  end(): void;
}

const SLOW_MS = 1_200;

export function oddDisk(folder: string, how: keyof typeof FLAGS, slowMs = SLOW_MS): OddDisk {
  const preload = join(folder, 'odd-disk.so');
  const flag = join(folder, how);
  execFileSync('cc', ['-shared', '-fPIC', '-o', preload, SOURCE]);
  return {
    env: { LD_PRELOAD: preload, [FLAGS[how]]: flag, FSYNC_TAKES_MS: String(slowMs) },
    begin: () => writeFileSync(flag, ''),
    end: () => rmSync(flag),
  };
}
