import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  eventually,
  isAlive,
  start,
  temporaryFolder,
  untilPrinted,
  type RunningCommand,
} from '../harness.ts';

interface Demo extends RunningCommand {
  readonly leftovers: () => string[];
  mirror(): number;
}

function startDemo(...args: string[]): Demo {
  const folder = temporaryFolder();
  // It must not read the caller's configuration, wrong as it may be.
  const command = start({ folder, env: { TMPDIR: folder, PORT: 'wrong' } }, 'demo', ...args);
  const mirrors = new Set<number>();
  const look = (): number => {
    const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(command.pid)], { encoding: 'utf8' });
    const pid = Number(stdout.trim().split('\n')[0]);
    mirrors.add(pid);
    return pid;
  };
  return Object.assign(command, {
    mirror: look,
    leftovers: () => [...readdirSync(folder), ...[...mirrors].filter(isAlive).map((pid) => `process ${pid}`)],
  });
}

const SELLING = /stock changes; webhooks/;

test.concurrent('ends equal after losses, disorder and a kill', async () => {
  const demo = startDemo('--seconds', '10', '--products', '15', '--rate', '30');
  await untilPrinted(demo, SELLING);
  demo.mirror();
  await untilPrinted(demo, /the mirror is back, with every webhook that it had acknowledged/);
  demo.mirror();
  const { code, stdout, stderr } = await demo.ended;
  expect(stdout).toMatch(/\nVERDICT: equal\. The mirror has exactly the store’s values\.\n$/);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/ s {2}lost .*Found: .* Repaired by a read/);
  expect(demo.leftovers()).toEqual([]);
});

test.concurrent('ends with the reason if the mirror dies', async () => {
  const demo = startDemo('--products', '5');
  await untilPrinted(demo, SELLING);
  process.kill(demo.mirror(), 'SIGKILL');
  const { code, stdout, stderr } = await demo.ended;
  expect(code).toBe(1);
  expect(stderr).toBe('error: the mirror ended unexpectedly (SIGKILL)\n');
  expect(stdout).not.toContain('VERDICT');
  expect(demo.leftovers()).toEqual([]);
});

test.concurrent.each([
  ['Ctrl-C twice', ['SIGINT', 'SIGINT'], 130],
  ['SIGTERM', ['SIGTERM'], 1],
] as const)('ends at once on %s and leaves nothing', async (_, signals, code) => {
  const demo = startDemo('--products', '5');
  await untilPrinted(demo, SELLING);
  demo.mirror();
  for (const signal of signals) {
    demo.signal(signal);
    if (signal === 'SIGINT' && signals.length > 1) await untilPrinted(demo, /Ctrl-C: stock stops changing/);
  }
  expect((await demo.ended).code).toBe(code);
  await eventually(() => demo.leftovers().length === 0, { what: 'nothing is left' });
});
