/** A slice of the simulation of several machines: `npm run simulate -- --cluster` runs as many seeds as one likes. */
import { expect, test } from 'vitest';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const SCRIPT = join(import.meta.dirname, '../../../scripts/simulate.ts');

test(
  'every promise holds where receivers, replicas and a lead share an event log',
  { timeout: 60_000 },
  () => {
    const args = ['--cluster', '--from', '12', '--seeds', '2', '--processes', '2'];
    const { status, stdout } = spawnSync(process.execPath, [SCRIPT, ...args], { encoding: 'utf8' });
    expect(stdout).toContain('every promise held');
    expect(status, stdout).toBe(0);
  },
);
