/** A sandbox such as systemd's refuses calls to the operating system. */
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { startBoth, statusOf, temporaryFolder, untilEqual } from '../process/harness.ts';

const SOURCE = fileURLToPath(new URL('fixtures/refuse-resources.c', import.meta.url));
const canRefuse = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0;

test.skipIf(!canRefuse)(
  `the mirror works where priorities and limits cannot be set${canRefuse ? '' : ' (skipped: needs Linux and a C compiler)'}`,
  async (t) => {
    const preload = join(temporaryFolder(t), 'refuse-resources.so');
    execFileSync('cc', ['-shared', '-fPIC', '-o', preload, SOURCE]);
    const { sandbox, mirror } = await startBoth(t, { products: 5 }, { env: { LD_PRELOAD: preload } });
    await untilEqual(mirror, sandbox);
    expect(statusOf(mirror.databasePath).state).toBe('live');
  },
);
